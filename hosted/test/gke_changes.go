package hosted

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

var (
	aborted = &refusal{http.StatusConflict, "ABORTED", "the etag is not the present one"}
	already = &refusal{http.StatusConflict, "ALREADY_EXISTS", "Already exists"}
)

func badRequest(message string) *refusal {
	return &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", message}
}

func (g *GKE) create(c call) (object, *refusal) {
	if g.cluster != nil {
		return nil, already
	}
	cluster, _ := c.body["cluster"].(object)
	g.cluster = cluster
	cluster["status"], cluster["id"], cluster["location"] = "RUNNING", "id-"+g.version(), c.name(1)
	cluster["currentMasterVersion"] = build(cluster["initialClusterVersion"])
	cluster["labelFingerprint"] = g.version()
	set(cluster, "maintenancePolicy", "resourceVersion", g.version())
	g.renew("")
	for _, pool := range g.pools() {
		g.start(pool)
	}
	return g.accepted(c), nil
}

// start makes a pool RUNNING.
func (g *GKE) start(pool object) {
	pool["status"] = "RUNNING"
	if pool["version"] == nil {
		pool["version"] = g.cluster["currentMasterVersion"]
	}
	pool["version"] = build(pool["version"])
	pool["etag"] = g.version()
}

// build returns the full version for a shorter name.
func build(version any) any {
	text, _ := version.(string)
	switch {
	case text == "" || strings.Contains(text, "-gke."):
		return version
	case strings.Count(text, ".") == 1:
		return text + ".2-gke.100"
	default:
		return text + "-gke.100"
	}
}

func (g *GKE) change(c call, pool object) *refusal {
	switch c.method {
	case "clusters.delete":
		return nil
	case "clusters.update":
		update, _ := c.body["update"].(object)
		return g.updateCluster(update)
	case "clusters.setResourceLabels":
		if c.body["labelFingerprint"] != g.cluster["labelFingerprint"] {
			return &refusal{http.StatusPreconditionFailed, "FAILED_PRECONDITION", "Labels could not be set due to fingerprint mismatch."}
		}
		g.cluster["resourceLabels"], g.cluster["labelFingerprint"] = c.body["resourceLabels"], g.version()
	case "clusters.setMaintenancePolicy":
		policy, _ := c.body["maintenancePolicy"].(object)
		if policy["resourceVersion"] != g.cluster["maintenancePolicy"].(object)["resourceVersion"] {
			return aborted
		}
		g.cluster["maintenancePolicy"] = policy
		set(g.cluster, "maintenancePolicy", "resourceVersion", g.version())
	case "clusters.setNetworkPolicy":
		g.cluster["networkPolicy"] = c.body["networkPolicy"]
	default:
		return g.changePool(c, pool)
	}
	g.renew("")
	return nil
}

// updateCluster accepts one field at a time, besides those that address the object.
func (g *GKE) updateCluster(update object) *refusal {
	if etag, ok := update["etag"]; ok && etag != g.cluster["etag"] {
		return aborted
	}
	fields := maps.Clone(update)
	delete(fields, "etag")
	delete(fields, "desiredNodePoolId")
	if len(fields) != 1 {
		return badRequest("Must specify exactly one field to update.")
	}
	replaced := map[string]string{
		"desiredMasterAuthorizedNetworksConfig": "masterAuthorizedNetworksConfig", "desiredLoggingService": "loggingService",
		"desiredMonitoringService": "monitoringService", "desiredLocations": "locations",
	}
	for name, value := range fields {
		switch field := replaced[name]; {
		case field != "":
			g.cluster[field] = value
		case name == "desiredMasterVersion":
			g.cluster["currentMasterVersion"] = build(value)
		case name == "desiredAddonsConfig":
			addons, _ := value.(object)
			for addon, setting := range addons {
				set(g.cluster, "addonsConfig", addon, setting)
			}
		case name == "desiredNodePoolAutoscaling":
			pool, _ := update["desiredNodePoolId"].(string)
			if g.pool(pool) == nil {
				return badRequest("there is no node pool " + pool)
			}
			g.pool(pool)["autoscaling"] = value
			g.renew(pool)
			return nil
		default:
			return badRequest(name + " cannot be updated here yet")
		}
	}
	g.renew("")
	return nil
}

func (g *GKE) changePool(c call, pool object) *refusal {
	switch c.method {
	case "clusters.nodePools.create":
		created, _ := c.body["nodePool"].(object)
		name, _ := created["name"].(string)
		if g.pool(name) != nil {
			return already
		}
		g.start(created)
		list, _ := g.cluster["nodePools"].([]any)
		g.cluster["nodePools"] = append(list, created)
		g.renew("")
		return nil
	case "clusters.nodePools.delete":
		list, _ := g.cluster["nodePools"].([]any)
		g.cluster["nodePools"] = slices.DeleteFunc(list, func(item any) bool { return item.(object)["name"] == pool["name"] })
		g.renew("")
		return nil
	case "clusters.nodePools.update":
		if refused := updatePool(pool, c.body); refused != nil {
			return refused
		}
	case "clusters.nodePools.setManagement":
		pool["management"] = c.body["management"]
	case "clusters.nodePools.setSize":
		pool["initialNodeCount"] = c.body["nodeCount"]
	default:
		return &refusal{http.StatusNotImplemented, "UNIMPLEMENTED", c.method}
	}
	g.renew(c.name(3))
	return nil
}

func updatePool(pool, body object) *refusal {
	if etag, ok := body["etag"]; ok && etag != pool["etag"] {
		return aborted
	}
	delete(body, "etag")
	labels, hasLabels := body["labels"].(object)
	tags, hasTags := body["tags"].(object)
	taints, hasTaints := body["taints"].(object)
	nodes := maps.Clone(body)
	maps.DeleteFunc(nodes, func(name string, _ any) bool {
		return name != "machineType" && name != "diskType" && name != "diskSizeGb"
	})
	switch {
	case len(nodes) > 0 && len(nodes) == len(body):
		for name, value := range nodes {
			if size, err := strconv.ParseFloat(fmt.Sprint(value), 64); name == "diskSizeGb" && err == nil {
				value = size
			}
			set(pool, "config", name, value)
		}
	case len(body) != 1:
		return badRequest("Must specify exactly one field to update.")
	case hasTags:
		set(pool, "config", "tags", tags["tags"])
	case hasTaints:
		set(pool, "config", "taints", taints["taints"])
	case body["imageType"] != nil:
		set(pool, "config", "imageType", body["imageType"])
	case hasLabels:
		set(pool, "config", "labels", labels["labels"])
	case body["nodeVersion"] != nil:
		pool["version"] = build(body["nodeVersion"])
	default:
		return badRequest("it cannot be updated here yet")
	}
	return nil
}
