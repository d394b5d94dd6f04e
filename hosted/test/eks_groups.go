package hosted

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

func (e *EKS) group(method string, path []string, body object) (object, *failure) {
	if len(path) == 0 && method == http.MethodGet {
		names := []any{}
		for _, name := range slices.Sorted(maps.Keys(e.groups)) {
			names = append(names, name)
		}
		return object{"nodegroups": names}, nil
	}
	if len(path) == 0 {
		return e.createGroup(body)
	}
	group := e.groups[path[0]]
	switch {
	case group == nil:
		return nil, missing
	case method == http.MethodDelete && (e.slow || e.slowGroups):
		group["status"] = "DELETING"
	case method == http.MethodDelete:
		delete(e.groups, path[0])
	case len(path) == 2 && e.slowGroups:
		e.were[path[0]] = copied(group)
	}
	switch {
	case method != http.MethodPost:
	case len(path) == 2 && path[1] == "update-version":
		return e.updateGroupVersion(path[0], group, body)
	case len(path) == 2:
		return e.updateGroupConfig(path[0], group, body)
	}
	return object{"nodegroup": group}, nil
}

// SlowGroups makes changes of groups last until FinishGroup. Until then, EKS changes the other groups, and neither
// that group nor the cluster.
func (e *EKS) SlowGroups() {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.slowGroups, e.were = true, map[string]object{}
}

// FinishGroup ends what is done with a group. With an error, an update of it has failed.
func (e *EKS) FinishGroup(name, failure string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.groups[name] == nil {
		return
	}
	for _, update := range e.updates[name] {
		if update["status"] == "InProgress" {
			update["status"] = "Successful"
			if failure != "" {
				e.groups[name] = e.were[name]
				update["status"], update["errors"] = "Failed", []any{object{"errorCode": "PodEvictionFailure", "errorMessage": failure}}
			}
		}
	}
	if e.groups[name]["status"] == "DELETING" {
		delete(e.groups, name)
		return
	}
	e.groups[name]["status"] = "ACTIVE"
}

// groupInUse reports whether a request has to wait for a group that is being changed. A request for the cluster waits
// for all groups.
func (e *EKS) groupInUse(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	ofGroup := len(parts) > 2 && parts[2] == "node-groups"
	for name, group := range e.groups {
		changing := e.slowGroups && group["status"] != "ACTIVE"
		if changing && (!ofGroup || len(parts) > 3 && parts[3] == name) {
			return true
		}
	}
	return false
}

func (e *EKS) createGroup(body object) (object, *failure) {
	name, _ := body["nodegroupName"].(string)
	if e.groups[name] != nil {
		return nil, inUse
	}
	group := maps.Clone(body)
	delete(group, "clientRequestToken")
	if template, ok := body["launchTemplate"].(object); ok {
		data := e.EC2.data(template)
		_, twice := data["InstanceType"]
		if body["diskSize"] != nil || body["remoteAccess"] != nil || twice && body["instanceTypes"] != nil {
			return nil, invalid
		}
		if data["ImageId"] != nil {
			if body["version"] != nil || body["amiType"] != nil {
				return nil, invalid
			}
			group["amiType"] = "CUSTOM"
		}
		group["launchTemplate"] = e.EC2.named(template)
	}
	if group["version"] == nil {
		group["version"] = e.cluster["version"]
	}
	group["status"], group["nodegroupArn"] = "ACTIVE", "arn:group/"+name
	if e.slowGroups {
		group["status"] = "CREATING"
	}
	e.groups[name] = group
	return object{"nodegroup": group}, nil
}

func (e *EKS) updateGroupVersion(name string, group, body object) (object, *failure) {
	params, version := object{}, body["version"]
	now, has := group["launchTemplate"].(object)
	template, given := body["launchTemplate"].(object)
	custom := e.EC2.data(template)["ImageId"] != nil
	switch {
	case given && (!has || template["id"] != nil && template["id"] != now["id"]), custom && version != nil:
		return nil, invalid
	case version == nil && !custom:
		// The default is the version of the cluster.
		version = e.cluster["version"]
	}
	if version != nil {
		group["version"], params["Version"] = version, version
	}
	if given {
		now = maps.Clone(now)
		maps.Copy(now, template)
		group["launchTemplate"], params["LaunchTemplateVersion"], params["LaunchTemplateName"] = now, now["version"], now["name"]
	}
	return e.update(name, "VersionUpdate", params), nil
}

// updateGroupConfig changes single sizes and single labels.
func (e *EKS) updateGroupConfig(name string, group, body object) (object, *failure) {
	params := object{}
	if change, ok := body["scalingConfig"].(object); ok {
		scaling, _ := group["scalingConfig"].(object)
		scaling = maps.Clone(scaling)
		maps.Copy(scaling, change)
		// "Minimum capacity 8 can't be greater than desired size 4": issue 3306 of terraform-aws-modules/terraform-aws-eks.
		least, _ := scaling["minSize"].(float64)
		most, bounded := scaling["maxSize"].(float64)
		if desired, ok := scaling["desiredSize"].(float64); ok && (desired < least || bounded && desired > most) {
			return nil, invalid
		}
		group["scalingConfig"] = scaling
		params["DesiredSize"], params["MinSize"], params["MaxSize"] = scaling["desiredSize"], scaling["minSize"], scaling["maxSize"]
	}
	if change, ok := body["labels"].(object); ok {
		labels, _ := group["labels"].(object)
		labels = maps.Clone(labels)
		if set, ok := change["addOrUpdateLabels"].(object); ok {
			maps.Copy(labels, set)
			params["LabelsToAdd"] = set
		}
		remove, _ := change["removeLabels"].([]any)
		for _, key := range remove {
			delete(labels, key.(string))
		}
		if len(remove) > 0 {
			params["LabelsToRemove"] = remove
		}
		group["labels"] = labels
	}
	return e.update(name, "ConfigUpdate", params), nil
}
