package hosted

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// AKS plays one cluster in Azure Kubernetes Service. Its changes are done at once. A PUT replaces an object,
// and only with its current etag.
type AKS struct {
	player
	// Lax accepts what Azure accepts but the operator must not send: requests without an etag, and pools in
	// the request of a cluster.
	Lax bool

	id      string
	failure string
	cluster object
	pools   map[string]object
	etag    int
}

// NewAKS returns a cluster in AKS' format, with its pools. If it is nil, there is none yet; the name of a new
// one is shop.
func NewAKS(cluster object, pools ...object) *AKS {
	a := &AKS{cluster: cluster, pools: map[string]object{}, id: aksPath}
	if cluster != nil {
		a.id, cluster["eTag"] = cluster["id"].(string), a.next()
	}
	for _, pool := range pools {
		pool["properties"].(object)["eTag"] = a.next()
		a.pools[pool["name"].(string)] = pool
	}
	return a
}

// Edit changes the cluster, as somebody else would. If change returns nil, the cluster is deleted.
func (a *AKS) Edit(change func(cluster object) object) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.cluster = change(a.cluster); a.cluster == nil {
		a.pools = map[string]object{}
		return
	}
	a.cluster["eTag"] = a.next()
}

// Fail lets each further operation of a pool fail after it was accepted. The pool keeps its values. Without a
// failure, operations succeed again.
func (a *AKS) Fail(failure string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.failure = failure
}

func (a *AKS) next() string {
	a.etag++
	return fmt.Sprintf("etag-%d", a.etag)
}

func (a *AKS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer a.turn(r)()
	status, out := a.route(r)
	respond(w, status, out)
}

// noCluster is Azure's answer for a cluster that does not exist, as recorded in testdata/aks.json.
func noCluster(r *http.Request) (int, object) {
	group, name := "", ""
	parts := strings.Split(r.URL.Path, "/")
	for i, part := range parts[:len(parts)-1] {
		switch part {
		case "resourceGroups":
			group = parts[i+1]
		case "managedClusters":
			name = parts[i+1]
		}
	}
	return http.StatusNotFound, object{"error": object{"code": "ResourceNotFound", "message": fmt.Sprintf(
		"The Resource 'Microsoft.ContainerService/managedClusters/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", name, group)}}
}

func refused(status int, code string) (int, object) {
	return status, object{"code": code, "message": code}
}

// aksPath is the ID of a cluster that was created here.
const aksPath = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/shop"

func (a *AKS) route(r *http.Request) (int, object) {
	rest, ok := strings.CutPrefix(r.URL.Path, a.id)
	if !ok || r.URL.Query().Get("api-version") == "" || r.Header.Get("Authorization") == "" {
		return noCluster(r)
	}
	name, isPool := strings.CutPrefix(rest, "/agentPools/")
	switch {
	case rest == "" && r.Method == http.MethodPut:
		return a.putCluster(r)
	case a.cluster == nil && rest != "":
		return refused(http.StatusNotFound, "ParentResourceNotFound")
	case a.cluster == nil:
		return noCluster(r)
	case rest == "" && r.Method == http.MethodGet:
		return http.StatusOK, a.shown()
	case rest == "" && r.Method == http.MethodDelete:
		return a.deleted(r, rest, a.cluster["eTag"], func() { a.cluster, a.pools = nil, map[string]object{} })
	case rest == "/agentPools" && r.Method == http.MethodGet:
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(a.pools)) {
			list = append(list, a.pools[name])
		}
		return http.StatusOK, object{"value": list}
	case isPool && r.Method == http.MethodPut:
		return a.putPool(r, name)
	case isPool && a.pools[name] == nil:
		return refused(http.StatusNotFound, "NotFound")
	case isPool && r.Method == http.MethodGet:
		return http.StatusOK, a.pools[name]
	case isPool && r.Method == http.MethodDelete:
		return a.deleted(r, rest, a.pools[name]["properties"].(object)["eTag"], func() { delete(a.pools, name) })
	default:
		return refused(http.StatusNotFound, "ResourceNotFound")
	}
}

// allows reports whether a request may change an object with this etag; nil means that the object does not
// exist.
func (a *AKS) allows(r *http.Request, etag any) bool {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if match == "" && none == "" {
		return a.Lax
	}
	return etag == nil && none == "*" || etag != nil && match == etag
}

func (a *AKS) deleted(r *http.Request, path string, etag any, del func()) (int, object) {
	if !a.allows(r, etag) {
		return refused(http.StatusPreconditionFailed, "EtagMismatch")
	}
	a.changes = append(a.changes, strings.TrimSpace("DELETE "+path))
	del()
	return http.StatusAccepted, nil
}

// shown returns the cluster with its pools, as a GET shows them.
func (a *AKS) shown() object {
	out := maps.Clone(a.cluster)
	properties := maps.Clone(out["properties"].(object))
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(a.pools)) {
		profile := maps.Clone(a.pools[name]["properties"].(object))
		profile["name"] = name
		list = append(list, profile)
	}
	properties["agentPoolProfiles"] = list
	out["properties"] = properties
	return out
}

// putCluster refuses pools, unless the cluster is new: they would overwrite pools with an older read. Pools
// of the cluster get new etags, too.
func (a *AKS) putCluster(r *http.Request) (int, object) {
	old := a.cluster["eTag"]
	if !a.allows(r, old) {
		return refused(http.StatusPreconditionFailed, "EtagMismatch")
	}
	body, ok := settled(r)
	properties, _ := body["properties"].(object)
	profiles, _ := properties["agentPoolProfiles"].([]any)
	switch {
	case !ok || properties == nil || old == nil && (body["location"] == nil || body["identity"] == nil || len(profiles) == 0):
		return refused(http.StatusBadRequest, "InvalidRequestContent")
	case len(profiles) > 0 && old != nil && !a.Lax:
		return refused(http.StatusBadRequest, "PoolsInCluster")
	}
	delete(properties, "agentPoolProfiles")
	a.changes = append(a.changes, "PUT")
	a.cluster = body
	body["eTag"], body["id"], body["name"] = old, a.id, path.Base(a.id)
	properties["provisioningState"] = "Succeeded"
	a.putProfiles(profiles)
	// The answer has the previous etags.
	answer := a.shown()
	for _, profile := range profiles {
		profile.(object)["eTag"] = a.next()
	}
	body["eTag"] = a.next()
	return answered(old, answer, answer["properties"].(object))
}

func (a *AKS) putProfiles(profiles []any) {
	for _, profile := range profiles {
		pool := profile.(object)
		name := pool["name"].(string)
		delete(pool, "name")
		pool["provisioningState"] = "Succeeded"
		if old := a.pools[name]; old != nil {
			pool["eTag"] = old["properties"].(object)["eTag"]
		}
		a.pools[name] = object{"id": a.id + "/agentPools/" + name, "name": name, "properties": pool}
	}
}

func (a *AKS) putPool(r *http.Request, name string) (int, object) {
	var old any
	if pool := a.pools[name]; pool != nil {
		old = pool["properties"].(object)["eTag"]
	}
	if !a.allows(r, old) {
		return refused(http.StatusPreconditionFailed, "EtagMismatch")
	}
	body, ok := settled(r)
	properties, _ := body["properties"].(object)
	if !ok || properties == nil {
		return refused(http.StatusBadRequest, "InvalidRequestContent")
	}
	if properties["enableAutoScaling"] != true && (properties["minCount"] != nil || properties["maxCount"] != nil) {
		return refused(http.StatusBadRequest, "InvalidParameter")
	}
	a.changes = append(a.changes, "PUT /agentPools/"+name)
	body["name"], body["id"] = name, a.id+"/agentPools/"+name
	// The answer has a temporary etag, which no read shows.
	now := a.next()
	properties["eTag"], properties["provisioningState"] = a.next(), "Succeeded"
	if a.failure != "" {
		if kept := a.pools[name]; kept != nil {
			properties["count"], properties["nodeLabels"] = kept["properties"].(object)["count"], kept["properties"].(object)["nodeLabels"]
		}
		properties["provisioningState"], properties["status"] = "Failed", object{"provisioningError": object{"code": "QuotaExceeded", "message": a.failure}}
	}
	a.pools[name] = body
	answer := maps.Clone(properties)
	answer["eTag"] = now
	return answered(old, maps.Clone(body), answer)
}

// answered returns the answer to a PUT. It differs a little from the answer to a GET.
func answered(old any, out, properties object) (int, object) {
	properties = maps.Clone(properties)
	properties["provisioningState"] = "Updating"
	out["properties"] = properties
	if old != nil {
		return http.StatusOK, out
	}
	properties["provisioningState"] = "Creating"
	delete(out, "eTag")
	return http.StatusCreated, out
}

// settled returns the body without null and empty values, as Azure stores it.
func settled(r *http.Request) (object, bool) {
	var body object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, false
	}
	out, _ := filled(body).(object)
	return out, out != nil
}

func filled(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, value := range v {
			if kept := filled(value); kept != nil {
				out[name] = kept
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, filled(item))
		}
		if len(out) > 0 {
			return out
		}
		return nil
	default:
		return v
	}
}
