// Package hosted has emulated clouds for tests. They speak the protocols of the clouds' own libraries, in one
// process. Each has a hook for what somebody else does meanwhile. Tests need no account, and check the
// emulators against the recordings in the libraries' modules.
package hosted

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// EKS plays one cluster in Amazon EKS. Its updates are done at once.
type EKS struct {
	player

	cluster object
	groups  map[string]object
	addons  map[string]bool
	// addonHas is more about each of them, and addonHad was before an update.
	addonHas, addonHad object
	// updates by the group or add-on that they belong to ("" for the cluster), in their order.
	updates map[string][]object
	// tokens have the answers to the requests with these tokens.
	tokens map[string]object
	busy   bool
	slow   bool
	// slowGroups: changes of groups last until FinishGroup. were are the groups before their updates.
	slowGroups bool
	were       map[string]object
	// shown is the cluster before an update that is in progress.
	shown object
	// EC2 has the launch templates.
	EC2 *EC2
}

type object = map[string]any

// NewEKS returns a cluster in EKS' format, with its node groups. If it is nil, there is none yet.
func NewEKS(cluster object, groups ...object) *EKS {
	e := &EKS{cluster: cluster, groups: map[string]object{}, addons: map[string]bool{}, addonHas: object{}, updates: map[string][]object{}, tokens: map[string]object{}, EC2: NewEC2()}
	for _, group := range groups {
		e.groups[group["nodegroupName"].(string)] = group
	}
	return e
}

// Busy makes it refuse changes, as during an update, or accept them again.
func (e *EKS) Busy(busy bool) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.busy = busy
}

// Slow makes updates of the cluster last until Finish. EKS takes seconds until it shows an update: before
// that, the cluster is ACTIVE and unchanged.
func (e *EKS) Slow() {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.slow = true
}

// Finish ends the updates that are in progress. With an error they have failed, and the cluster stays
// unchanged.
func (e *EKS) Finish(failure string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, update := range slices.Concat(e.updates[""], e.updates[addonKey("aws-ebs-csi-driver")]) {
		if update["status"] != "InProgress" {
			continue
		}
		update["status"] = "Successful"
		if failure != "" {
			update["status"], e.cluster = "Failed", e.shown
			if update["type"] == "AddonUpdate" {
				e.addonHas = e.addonHad
			}
			update["errors"] = []any{object{"errorCode": "Unknown", "errorMessage": failure}}
		}
	}
	e.shown = nil
	maps.DeleteFunc(e.groups, func(_ string, group object) bool { return group["status"] == "DELETING" })
}

// Edit changes the cluster, as somebody else would. If change returns nil, the cluster is deleted.
func (e *EKS) Edit(change func(cluster object) object) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.cluster = change(e.cluster); e.cluster == nil {
		e.groups = map[string]object{}
	}
}

// EditGroup changes a group, as EKS itself does when something goes wrong.
func (e *EKS) EditGroup(name string, change func(group object)) {
	e.lock.Lock()
	defer e.lock.Unlock()
	change(e.groups[name])
}

// Forget removes a group without a request, as if somebody else had deleted it.
func (e *EKS) Forget(group string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.groups, group)
}

// Tag sets a tag of the cluster without a request, as if somebody else had.
func (e *EKS) Tag(key, value string) {
	e.lock.Lock()
	defer e.lock.Unlock()
	set(e.cluster, "tags", key, value)
}

// failure is an error answer of EKS.
type failure struct {
	status int
	kind   string
}

var (
	missing = &failure{http.StatusNotFound, "ResourceNotFoundException"}
	inUse   = &failure{http.StatusConflict, "ResourceInUseException"}
	invalid = &failure{http.StatusBadRequest, "InvalidParameterException"}
	unknown = &failure{http.StatusNotImplemented, "UnknownOperationException"}
)

func (e *EKS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer e.turn(r)()
	if r.URL.Path == "/" {
		e.EC2.ServeHTTP(w, r)
		return
	}
	var body object
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			e.answer(w, nil, invalid)
			return
		}
	}
	e.answer(e.once(w, r, body))
}

// once repeats its answer to a known token.
func (e *EKS) once(w http.ResponseWriter, r *http.Request, body object) (http.ResponseWriter, object, *failure) {
	token, _ := body["clientRequestToken"].(string)
	if out := e.tokens[token]; out != nil {
		return w, out, nil
	}
	changes := r.Method != http.MethodGet
	if changes && (e.busy || e.shown != nil || e.groupInUse(r.URL.Path)) {
		return w, nil, inUse
	}
	before := copied(e.cluster)
	out, failed := e.route(r, body)
	if failed == nil && changes && e.slow && out["update"] != nil {
		e.shown = before
	}
	if failed == nil && changes {
		e.changes = append(e.changes, r.Method+" "+r.URL.Path)
		if token != "" {
			e.tokens[token] = out
		}
	}
	return w, out, failed
}

func copied(from object) object {
	var to object
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, &to)
	}
	if err != nil {
		panic(err)
	}
	return to
}

func (e *EKS) answer(w http.ResponseWriter, out object, failed *failure) {
	status := http.StatusOK
	if failed != nil {
		w.Header().Set("X-Amzn-Errortype", failed.kind)
		status, out = failed.status, object{"message": failed.kind}
	}
	respond(w, status, out)
}

func (e *EKS) route(r *http.Request, body object) (object, *failure) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "tags" {
		return e.tag(r.Method, strings.TrimPrefix(r.URL.Path, "/tags/"), body, r.URL.Query()["tagKeys"])
	}
	if r.URL.Path == "/clusters" {
		return e.create(body)
	}
	if len(parts) < 2 || e.cluster == nil || parts[0] != "clusters" || parts[1] != e.cluster["name"] {
		return nil, missing
	}
	switch rest := parts[2:]; {
	case len(rest) == 0 && r.Method == http.MethodDelete:
		return e.delete()
	case len(rest) == 0 && e.shown != nil:
		return object{"cluster": e.shown}, nil
	case len(rest) == 0:
		return object{"cluster": e.cluster}, nil
	case rest[0] == "update-config":
		return e.updateCluster(body)
	case rest[0] == "updates" && r.Method == http.MethodPost:
		e.cluster["version"] = body["version"]
		return e.update("", "VersionUpdate", object{"Version": body["version"]}), nil
	case rest[0] == "updates":
		return e.describeUpdates(r.URL.Query(), rest[1:])
	case rest[0] == "node-groups":
		return e.group(r.Method, rest[1:], body)
	case rest[0] == "addons":
		return e.addon(r.Method, rest[1:], body)
	default:
		return nil, unknown
	}
}

func (e *EKS) create(body object) (object, *failure) {
	vpc, _ := body["resourcesVpcConfig"].(object)
	switch {
	case e.cluster != nil:
		return nil, inUse
	case body["roleArn"] == nil || vpc["subnetIds"] == nil:
		return nil, invalid
	}
	defaults := object{"endpointPublicAccess": true, "endpointPrivateAccess": false, "publicAccessCidrs": []any{"0.0.0.0/0"}}
	for name, value := range defaults {
		if vpc[name] == nil {
			vpc[name] = value
		}
	}
	e.cluster = maps.Clone(body)
	delete(e.cluster, "clientRequestToken")
	delete(e.cluster, "bootstrapSelfManagedAddons")
	e.cluster["status"], e.cluster["createdAt"], e.cluster["arn"] = "ACTIVE", 1_800_000_000, fmt.Sprintf("arn:cluster/%s", body["name"])
	return object{"cluster": e.cluster}, nil
}

// delete refuses while there are groups.
func (e *EKS) delete() (object, *failure) {
	if len(e.groups) > 0 {
		return nil, inUse
	}
	cluster := e.cluster
	e.cluster = nil
	return object{"cluster": cluster}, nil
}

// updateCluster accepts one kind of change at a time, as EKS does.
func (e *EKS) updateCluster(body object) (object, *failure) {
	vpc, hasVPC := body["resourcesVpcConfig"].(object)
	logging, hasLogging := body["logging"].(object)
	if hasVPC == hasLogging {
		return nil, invalid
	}
	if hasLogging {
		e.log(logging)
		return e.update("", "LoggingUpdate", object{"ClusterLogging": logging}), nil
	}
	_, public := vpc["endpointPublicAccess"]
	_, private := vpc["endpointPrivateAccess"]
	cidrs := vpc["publicAccessCidrs"] != nil
	if !public && !cidrs || public != private {
		return nil, invalid
	}
	maps.Copy(e.cluster["resourcesVpcConfig"].(object), vpc)
	params := object{}
	for key, value := range vpc {
		params[strings.ToUpper(key[:1])+key[1:]] = value
	}
	return e.update("", "EndpointAccessUpdate", params), nil
}

// log switches only the named types.
func (e *EKS) log(logging object) {
	on := map[string]bool{}
	e.eachLog(e.cluster["logging"].(object), on)
	e.eachLog(logging, on)
	var enabled []any
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if on[name] {
			enabled = append(enabled, name)
		}
	}
	e.cluster["logging"] = object{"clusterLogging": []any{object{"types": enabled, "enabled": true}}}
}

func (e *EKS) eachLog(logging object, on map[string]bool) {
	setups, _ := logging["clusterLogging"].([]any)
	for _, setup := range setups {
		s := setup.(object)
		names, _ := s["types"].([]any)
		for _, name := range names {
			on[name.(string)] = s["enabled"] == true
		}
	}
}

func (e *EKS) update(group, kind string, params object) object {
	var list []any
	for _, key := range slices.Sorted(maps.Keys(params)) {
		value, ok := params[key].(string)
		if !ok {
			text, err := json.Marshal(params[key])
			if err != nil {
				panic(err)
			}
			value = string(text)
		}
		list = append(list, object{"type": key, "value": value})
	}
	update := object{
		"id":     fmt.Sprintf("update-%d", len(e.changes)),
		"status": "Successful", "type": kind, "createdAt": 1_800_000_000 + len(e.changes), "params": list,
	}
	isGroup := e.groups[group] != nil
	if e.slow && !isGroup || e.slowGroups && isGroup {
		update["status"] = "InProgress"
	}
	if e.slowGroups && isGroup {
		e.groups[group]["status"] = "UPDATING"
	}
	e.updates[group] = append(e.updates[group], update)
	return object{"update": update}
}

func (e *EKS) describeUpdates(of url.Values, id []string) (object, *failure) {
	group, addon := of.Get("nodegroupName"), of.Get("addonName")
	if group != "" && e.groups[group] == nil || addon != "" && !e.addons[addon] {
		return nil, missing
	}
	if addon != "" {
		group = addonKey(addon)
	}
	ids := []any{}
	for _, update := range e.updates[group] {
		if len(id) == 1 && update["id"] == id[0] {
			return object{"update": update}, nil
		}
		ids = append(ids, update["id"])
	}
	if len(id) == 1 {
		return nil, missing
	}
	return object{"updateIds": ids}, nil
}

func (e *EKS) tag(method, arn string, body object, remove []string) (object, *failure) {
	owner := e.cluster
	for _, group := range e.groups {
		if group["nodegroupArn"] == arn {
			owner = group
		}
	}
	if owner["arn"] != arn && owner["nodegroupArn"] != arn {
		return nil, missing
	}
	tags, _ := owner["tags"].(object)
	tags = maps.Clone(tags)
	if method == http.MethodGet {
		return object{"tags": tags}, nil
	}
	if set, ok := body["tags"].(object); ok {
		maps.Copy(tags, set)
	}
	for _, key := range remove {
		delete(tags, key)
	}
	owner["tags"] = tags
	return object{}, nil
}
