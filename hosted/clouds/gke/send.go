package gke

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gketable"
	"github.com/spillway-io/spillway/hosted/merge"
)

// request is the HTTP request of a write.
type request struct {
	method, path string
	body         map[string]any
}

// change is one write of a plan, and the cluster as it was read.
type change struct {
	Cluster
	reading cloud.Reading
	write   merge.Write
}

// Send sends one request, and returns GKE's name of the operation. Each request changes one field. It names
// the version that was read, if GKE has one for that field. A message that replaces a whole object is built
// from the object that was read.
func (c *Client) Send(ctx context.Context, reading cloud.Reading, write merge.Write, _ string) (operation string, err error) {
	r, err := change{c.Cluster, reading, write}.request()
	if err != nil {
		return "", c.wrap(err, write.Call)
	}
	out, err := c.do(ctx, r.method, r.path, r.body)
	if write.Call == gketable.DeletePool && notFound(err, "nodePools/"+path.Base(r.path)) {
		return "", nil
	}
	return cloud.Text(out, "name"), c.wrap(err, write.Call)
}

func (c change) request() (request, error) {
	if err := c.guarded(); err != nil {
		return request{}, err
	}
	if c.write.Item != "" {
		return c.poolRequest()
	}
	update := func(name string, value any) (request, error) {
		body := map[string]any{name: value, "etag": c.write.Version}
		return request{http.MethodPut, c.cluster(), map[string]any{"update": body}}, nil
	}
	raw, message := c.reading.Raw[""], c.write.Message
	switch c.write.Call {
	case gketable.UpdateVersion:
		return update("desiredMasterVersion", message["kubernetesVersion"])
	case gketable.UpdateAddons:
		if c.policyFirst() {
			return request{}, errPolicyFirst
		}
		return update("desiredAddonsConfig", rawAddons(message["clusterAddons"]))
	case gketable.UpdateNetworks:
		return update("desiredMasterAuthorizedNetworksConfig", patched(raw["masterAuthorizedNetworksConfig"], message["masterAuthorizedNetworks"]))
	case gketable.UpdateLogging:
		return update("desiredLoggingService", message["loggingService"])
	case gketable.UpdateMonitoring:
		return update("desiredMonitoringService", message["monitoringService"])
	case gketable.UpdateLocations:
		return update("desiredLocations", message["locations"])
	case gketable.SetNetworkPolicy:
		policy := patched(raw["networkPolicy"], map[string]any{"enabled": message["networkPolicyEnabled"]})
		return request{http.MethodPost, c.cluster() + ":setNetworkPolicy", map[string]any{"networkPolicy": withProvider(policy)}}, nil
	case gketable.SetLabels:
		return c.labels()
	case gketable.SetMaintenance:
		return c.maintenance()
	default:
		return request{}, fmt.Errorf("%w: GKE has no such request", cloud.ErrRefused)
	}
}

// policyFirst reports whether the write disables the add-on for network policies, and the nodes still use it.
func (c change) policyFirst() bool {
	on, set := c.write.Set["clusterAddons.networkPolicyConfig"]
	return set && on != true && cloud.Get(c.reading.Raw[""], "networkPolicy.enabled") == true
}

// errPolicyFirst: GKE enables the add-on before the nodes use it, and disables it after them.
var errPolicyFirst = fmt.Errorf("%w: GKE disables the add-on networkPolicyConfig only after the nodes: networkPolicyEnabled must be false first", cloud.ErrBusy)

// guarded refuses a write that was decided on another reading than this one. The version of one reading with
// the values of another would overwrite the changes in between.
func (c change) guarded() error {
	i := slices.IndexFunc(Table.Calls, func(call merge.Call) bool { return call.Name == c.write.Call })
	switch {
	case i < 0 || Table.Calls[i].Guard != merge.ByVersion:
		return nil
	case c.write.Version == "" || c.reading.Versions[""] == "":
		return cloud.ErrNoVersion
	case c.write.Version != c.reading.Versions[c.write.Item]:
		return fmt.Errorf("%w: the decision used %s, but the cloud has %s", cloud.ErrBusy, c.write.Version, c.reading.Versions[c.write.Item])
	default:
		return nil
	}
}

func (c change) poolRequest() (request, error) {
	raw, pool := c.reading.Raw[c.write.Item], item(c.write.Message)
	name := cloud.Text(pool, "name")
	switch c.write.Call {
	case gketable.CreatePool:
		raw, err := c.withKey(rawPool(pool), c.reading.Config["customerManagedEncryptionKey"])
		return request{http.MethodPost, c.cluster() + "/nodePools", map[string]any{"nodePool": raw}}, err
	case gketable.DeletePool:
		return request{http.MethodDelete, c.pool(name), nil}, nil
	case gketable.UpdatePool:
		return request{http.MethodPut, c.pool(name), map[string]any{"nodeVersion": pool["version"], "etag": c.write.Version}}, nil
	case gketable.UpdatePoolLabels:
		labels := map[string]any{"labels": cloud.Get(pool, "config.labels")}
		return request{http.MethodPut, c.pool(name), map[string]any{"labels": labels, "etag": c.write.Version}}, nil
	case gketable.UpdatePoolTags:
		return c.update(name, map[string]any{"tags": map[string]any{"tags": list(pool, "config.tags")}})
	case gketable.UpdatePoolTaints:
		return c.update(name, map[string]any{"taints": map[string]any{"taints": list(pool, "config.taints")}})
	case gketable.UpdatePoolImage:
		return c.update(name, map[string]any{"imageType": cloud.Get(pool, "config.imageType")})
	case gketable.UpdatePoolNodes:
		return c.update(name, nodes(pool))
	case gketable.UpdatePoolScale:
		// This is an update of the cluster, with the cluster's etag.
		return request{http.MethodPut, c.cluster(), map[string]any{"update": map[string]any{
			"desiredNodePoolAutoscaling": patched(raw["autoscaling"], pool["autoscaling"]), "desiredNodePoolId": name, "etag": c.reading.Versions[""],
		}}}, nil
	case gketable.SetPoolManager:
		management := patched(raw["management"], pool["management"])
		return request{http.MethodPost, c.pool(name) + ":setManagement", map[string]any{"management": management}}, nil
	case gketable.SetPoolSize:
		return request{http.MethodPost, c.pool(name) + ":setSize", map[string]any{"nodeCount": pool["initialNodeCount"]}}, nil
	default:
		return request{}, fmt.Errorf("%w: GKE has no such request", cloud.ErrRefused)
	}
}

// update changes what the nodes of a pool are. GKE replaces the nodes.
func (c change) update(name string, fields map[string]any) (request, error) {
	fields["etag"] = c.write.Version
	return request{http.MethodPut, c.pool(name), fields}, nil
}

// list returns a list, which is empty if it is not set.
func list(pool map[string]any, path string) []any {
	items, _ := cloud.Get(pool, path).([]any)
	return append([]any{}, items...)
}

// nodes returns the machine type and the disks. GKE takes the size as a text.
func nodes(pool map[string]any) map[string]any {
	fields := map[string]any{}
	for _, name := range []string{"machineType", "diskType", "diskSizeGb"} {
		if value := cloud.Get(pool, "config."+name); value != nil {
			fields[name] = value
		}
	}
	if size := fields["diskSizeGb"]; size != nil {
		fields["diskSizeGb"] = fmt.Sprint(size)
	}
	return fields
}

// labels replaces all labels, if they have not changed since they were read.
func (c change) labels() (request, error) {
	fingerprint := cloud.Text(c.reading.Raw[""], "labelFingerprint")
	if fingerprint == "" {
		return request{}, cloud.ErrNoVersion
	}
	labels := c.write.Message["labels"]
	if labels == nil {
		labels = map[string]any{}
	}
	return request{http.MethodPost, c.cluster() + ":setResourceLabels", map[string]any{"resourceLabels": labels, "labelFingerprint": fingerprint}}, nil
}

// maintenance replaces the daily window in the policy that was read, and keeps its exclusions. The spec
// cannot express a recurring window, so maintenance refuses to replace one.
func (c change) maintenance() (request, error) {
	raw := c.reading.Raw[""]
	if cloud.Text(raw, "maintenancePolicy.resourceVersion") == "" {
		return request{}, cloud.ErrNoVersion
	}
	daily := cloud.Text(raw, dailyStart) != ""
	if !daily && (cloud.Get(raw, recurring) != nil || cloud.Get(raw, recurringToo) != nil) {
		return request{}, fmt.Errorf("%w: the cluster has a recurring maintenance window, which gkeConfig.maintenanceWindow would replace; "+
			"leave it unset, or remove the window in GKE", cloud.ErrRefused)
	}
	start, _ := c.write.Message["maintenanceWindow"].(string)
	window, _ := cloud.Get(raw, "maintenancePolicy.window").(map[string]any)
	window = maps.Clone(window)
	for _, kind := range []string{"dailyMaintenanceWindow", "recurringWindow", "recurringMaintenanceWindow"} {
		delete(window, kind)
	}
	policy := cloud.Put(raw, "maintenancePolicy.window", window)
	if start != "" {
		// GKE sets the duration.
		policy = cloud.Put(policy, dailyStart, start)
	}
	return request{http.MethodPost, c.cluster() + ":setMaintenancePolicy", map[string]any{"maintenancePolicy": policy["maintenancePolicy"]}}, nil
}

// patched returns a copy of what was read, with the values of the message.
func patched(raw, message any) map[string]any {
	out := map[string]any{}
	for _, from := range []any{raw, message} {
		object, _ := from.(map[string]any)
		maps.Copy(out, object)
	}
	return out
}

// withProvider sets the only provider that GKE has.
func withProvider(policy map[string]any) map[string]any {
	if policy["enabled"] == true && (policy["provider"] == nil || policy["provider"] == "PROVIDER_UNSPECIFIED") {
		policy["provider"] = "CALICO"
	}
	return policy
}

func item(message map[string]any) map[string]any {
	pools := objects(message["nodePools"])
	if len(pools) != 1 {
		return nil
	}
	return pools[0]
}
