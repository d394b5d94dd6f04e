package hosted

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// AKS is one cluster in Azure Kubernetes Service, whose changes are done at once. An object
// is replaced by what is put, and only with the etag that it has.
type AKS struct {
	// Before is called before each request is answered, without a lock: it may send others.
	Before func(*http.Request)

	lock    sync.Mutex
	cluster object
	pools   map[string]object
	etag    int
	changes []string
}

// NewAKS returns a cluster as AKS describes it, with its pools.
func NewAKS(cluster object, pools ...object) *AKS {
	a := &AKS{cluster: cluster, pools: map[string]object{}}
	cluster["eTag"] = a.next()
	for _, pool := range pools {
		pool["properties"].(object)["eTag"] = a.next()
		a.pools[pool["name"].(string)] = pool
	}
	return a
}

// Changes returns the requests that have changed something, in their order.
func (a *AKS) Changes() []string {
	a.lock.Lock()
	defer a.lock.Unlock()
	return slices.Clone(a.changes)
}

func (a *AKS) next() string {
	a.etag++
	return fmt.Sprintf("etag-%d", a.etag)
}

func (a *AKS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.Before != nil {
		a.Before(r)
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	status, out := a.route(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if out == nil {
		return
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err)
	}
}

func refused(status int, code string) (int, object) {
	return status, object{"error": object{"code": code, "message": code}}
}

func (a *AKS) route(r *http.Request) (int, object) {
	const cluster = "/subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/shop"
	path, ok := strings.CutPrefix(r.URL.Path, cluster)
	if !ok || r.URL.Query().Get("api-version") == "" || r.Header.Get("Authorization") == "" {
		return refused(http.StatusNotFound, "ResourceNotFound")
	}
	name, isPool := strings.CutPrefix(path, "/agentPools/")
	switch {
	case path == "" && r.Method == http.MethodGet:
		return http.StatusOK, a.shown()
	case path == "" && r.Method == http.MethodPut:
		return a.putCluster(r)
	case path == "/agentPools" && r.Method == http.MethodGet:
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(a.pools)) {
			list = append(list, a.pools[name])
		}
		return http.StatusOK, object{"value": list}
	case isPool && r.Method == http.MethodPut:
		return a.putPool(r, name)
	case isPool && r.Method == http.MethodDelete && a.pools[name] != nil:
		if r.Header.Get("If-Match") != a.pools[name]["properties"].(object)["eTag"] {
			return refused(http.StatusPreconditionFailed, "EtagMismatch")
		}
		a.changes = append(a.changes, "DELETE "+path)
		delete(a.pools, name)
		return http.StatusNoContent, nil
	default:
		return refused(http.StatusNotFound, "ResourceNotFound")
	}
}

// shown is the cluster with its pools, as a GET shows them.
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

// putCluster refuses pools: they would be replaced by those of an older read.
func (a *AKS) putCluster(r *http.Request) (int, object) {
	old := a.cluster["eTag"]
	if r.Header.Get("If-Match") != old {
		return refused(http.StatusPreconditionFailed, "EtagMismatch")
	}
	var body object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return refused(http.StatusBadRequest, "InvalidRequestContent")
	}
	if _, ok := body["properties"].(object)["agentPoolProfiles"]; ok {
		return refused(http.StatusBadRequest, "PoolsInCluster")
	}
	a.changes = append(a.changes, "PUT")
	a.cluster = body
	a.cluster["eTag"] = a.next()
	answer := maps.Clone(a.cluster)
	answer["eTag"] = old
	return http.StatusOK, answer
}

func (a *AKS) putPool(r *http.Request, name string) (int, object) {
	var old any
	if pool := a.pools[name]; pool != nil {
		old = pool["properties"].(object)["eTag"]
	}
	create := r.Header.Get("If-None-Match") == "*" && old == nil
	if !create && r.Header.Get("If-Match") != old {
		return refused(http.StatusPreconditionFailed, "EtagMismatch")
	}
	var body object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return refused(http.StatusBadRequest, "InvalidRequestContent")
	}
	a.changes = append(a.changes, "PUT /agentPools/"+name)
	body["name"] = name
	body["properties"].(object)["eTag"] = a.next()
	a.pools[name] = body
	answer := maps.Clone(body)
	answer["properties"] = maps.Clone(body["properties"].(object))
	answer["properties"].(object)["eTag"] = old
	return http.StatusOK, answer
}
