package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// GKE plays one cluster in Google Kubernetes Engine. Its operations are done at once, unless they are held.
// It accepts and returns only what Google's description of the API has. Like Google, it omits false, zero and
// empty values in answers.
type GKE struct {
	player

	api        *discovery
	cluster    object
	operations []object
	versions   int
	held       bool
}

// NewGKE returns a cluster in GKE's format, with its pools. If it is nil, there is none yet. api is the
// description of the API from Google's library: container/v1/container-api.json.
func NewGKE(api []byte, cluster object) (*GKE, error) {
	d, err := newDiscovery(api)
	if err != nil {
		return nil, err
	}
	g := &GKE{api: d, cluster: cluster}
	if cluster != nil {
		g.renew("")
		for _, pool := range g.pools() {
			g.renew(pool["name"].(string))
		}
		cluster["labelFingerprint"] = g.version()
		set(cluster, "maintenancePolicy", "resourceVersion", g.version())
	}
	return g, nil
}

// APIOfGKE returns Google's description of the API, from the module of its library.
func APIOfGKE(ctx context.Context) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		return nil, fmt.Errorf("finding Google's description of GKE: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "container", "v1", "container-api.json"))
}

// Edit changes the cluster, as somebody else would. If change returns nil, the cluster is deleted.
func (g *GKE) Edit(change func(cluster object) object) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.cluster = change(g.cluster); g.cluster != nil {
		g.renew("")
		g.cluster["labelFingerprint"] = g.version()
	}
}

// Hold keeps operations running, so that others are refused, or ends them.
func (g *GKE) Hold(held bool) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.held = held
	if held {
		return
	}
	for _, operation := range g.operations {
		operation["status"] = "DONE"
	}
	if g.cluster == nil {
		return
	}
	if g.cluster["status"] == "STOPPING" {
		g.cluster = nil
		return
	}
	g.cluster["status"] = "RUNNING"
	for _, pool := range g.pools() {
		pool["status"] = "RUNNING"
	}
}

// refusal is an error answer of Google.
type refusal struct {
	code            int
	status, message string
}

func (g *GKE) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer g.turn(r)()
	status := http.StatusOK
	out, refused := g.answer(r)
	if refused != nil {
		status, out = refused.code, object{"error": object{"code": refused.code, "status": refused.status, "message": refused.message}}
	}
	respond(w, status, out)
}

func (g *GKE) answer(r *http.Request) (object, *refusal) {
	m, names := g.api.find(r)
	if m == nil {
		return nil, &refusal{http.StatusNotFound, "NOT_FOUND", "there is no " + r.Method + " " + r.URL.Path}
	}
	body := object{}
	if m.Request != nil {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", err.Error()}
		}
		if err := g.api.check("", body, g.api.Schemas[m.Request.Ref]); err != nil {
			return nil, &refusal{http.StatusBadRequest, "INVALID_ARGUMENT", err.Error()}
		}
	}
	out, refused := g.call(call{strings.TrimPrefix(m.ID, "container.projects.locations."), names, body})
	if refused != nil {
		return nil, refused
	}
	shown, _ := full(decoded(out)).(object)
	if err := g.api.check("", shown, g.api.Schemas[m.Response.Ref]); err != nil {
		panic(fmt.Sprintf("the answer to %s: %v", m.ID, err))
	}
	return shown, nil
}

// call is a request: the method, the names in its path (project, location, cluster or operation, pool), and
// the body.
type call struct {
	method string
	names  []string
	body   object
}

func (c call) name(i int) string {
	if i < len(c.names) {
		return c.names[i]
	}
	return ""
}

// notFound names the missing object, as Google does. The message "googleapi: Error 404: Not found:
// projects/p/locations/l/clusters/c., notFound" is in many issues of hashicorp/terraform-provider-google.
func (c call) notFound() string {
	kinds := []string{"projects", "locations", "clusters", "nodePools"}
	if strings.HasPrefix(c.method, "operations.") {
		kinds[2] = "operations"
	}
	var parts []string
	for i, name := range c.names {
		parts = append(parts, kinds[i], name)
	}
	return "Not found: " + strings.Join(parts, "/") + "."
}

func (g *GKE) call(c call) (object, *refusal) {
	missing := &refusal{http.StatusNotFound, "NOT_FOUND", c.notFound()}
	switch c.method {
	case "operations.list":
		return object{"operations": g.operations}, nil
	case "operations.get":
		i := slices.IndexFunc(g.operations, func(o object) bool { return o["name"] == c.name(2) })
		if i < 0 {
			return nil, missing
		}
		return g.operations[i], nil
	case "clusters.create":
		return g.create(c)
	}
	if g.cluster == nil || g.cluster["name"] != c.name(2) {
		return nil, missing
	}
	if c.method == "clusters.get" {
		return g.cluster, nil
	}
	pool := g.pool(c.name(3))
	if c.name(3) != "" && pool == nil {
		return nil, missing
	}
	if i := slices.IndexFunc(g.operations, func(o object) bool { return o["status"] == "RUNNING" }); i >= 0 {
		return nil, &refusal{http.StatusBadRequest, "FAILED_PRECONDITION", fmt.Sprintf("Cluster is running incompatible operation %s.", g.operations[i]["name"])}
	}
	refused := g.change(c, pool)
	if refused != nil {
		return nil, refused
	}
	return g.accepted(c), nil
}

// accepted returns the operation of a change.
func (g *GKE) accepted(c call) object {
	g.changes = append(g.changes, strings.TrimSuffix(strings.TrimPrefix(c.method+" "+c.name(3), "clusters."), " "))
	target := fmt.Sprintf("https://container.googleapis.com/v1/projects/1/locations/%s/clusters/%s", c.name(1), g.cluster["name"])
	if c.name(3) != "" {
		target += "/nodePools/" + c.name(3)
	}
	if c.method == "clusters.nodePools.create" {
		target += "/nodePools/" + c.body["nodePool"].(object)["name"].(string)
	}
	operation := object{
		"name": fmt.Sprintf("operation-%d", len(g.operations)+1), "operationType": operationTypes[c.method], "status": "DONE",
		"targetLink": target, "startTime": fmt.Sprintf("2026-01-01T00:%02d:00.5Z", len(g.operations)%60), "location": c.name(1),
	}
	switch {
	case g.held:
		operation["status"], g.cluster["status"] = "RUNNING", "RECONCILING"
		if c.method == "clusters.delete" {
			g.cluster["status"] = "STOPPING"
		}
	case c.method == "clusters.delete":
		g.cluster = nil
	}
	g.operations = append(g.operations, operation)
	return operation
}

var operationTypes = map[string]string{
	"clusters.create": "CREATE_CLUSTER", "clusters.delete": "DELETE_CLUSTER", "clusters.update": "UPDATE_CLUSTER",
	"clusters.setResourceLabels": "UPDATE_CLUSTER", "clusters.setMaintenancePolicy": "UPDATE_CLUSTER",
	"clusters.setNetworkPolicy": "UPDATE_CLUSTER", "clusters.nodePools.create": "CREATE_NODE_POOL",
	"clusters.nodePools.delete": "DELETE_NODE_POOL", "clusters.nodePools.update": "UPGRADE_NODES",
	"clusters.nodePools.setManagement": "SET_NODE_POOL_MANAGEMENT", "clusters.nodePools.setSize": "SET_NODE_POOL_SIZE",
}

func (g *GKE) version() string {
	g.versions++
	return fmt.Sprintf("v%d", g.versions)
}

// renew gives the cluster and, if named, a pool a new etag.
func (g *GKE) renew(pool string) {
	g.cluster["etag"] = g.version()
	if pool != "" {
		g.pool(pool)["etag"] = g.version()
	}
}

func (g *GKE) pools() []object {
	list, _ := g.cluster["nodePools"].([]any)
	var pools []object
	for _, pool := range list {
		pools = append(pools, pool.(object))
	}
	return pools
}

func (g *GKE) pool(name string) object {
	for _, pool := range g.pools() {
		if pool["name"] == name {
			return pool
		}
	}
	return nil
}

// set sets a field of a nested object.
func set(in object, name, field string, value any) {
	of, _ := in[name].(object)
	of = maps.Clone(of)
	if of == nil {
		of = object{}
	}
	of[field] = value
	in[name] = of
}

// decoded returns a value as a reader of its JSON gets it.
func decoded(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

// full removes false, zero and empty values from objects, but not empty objects.
func full(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, value := range v {
			list, isList := value.([]any)
			if value == nil || value == false || value == 0.0 || value == "" || isList && len(list) == 0 {
				continue
			}
			out[name] = full(value)
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, full(item))
		}
		return out
	default:
		return v
	}
}
