package gke

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Read reads the cluster with its pools, in one request.
func (c *Client) Read(ctx context.Context) (cloud.Reading, error) {
	raw, err := c.do(ctx, http.MethodGet, c.cluster(), nil)
	if notFound(err, "clusters/"+c.Name) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Reading{}, c.wrap(err, "reading")
	}
	reading := cloud.Reading{
		Complete: true, Config: c.config(raw), UID: cloud.Text(raw, "id"), IDs: map[string]string{"": cloud.Text(raw, "selfLink")},
		Versions: map[string]string{"": cloud.Text(raw, "etag")}, Raw: map[string]map[string]any{"": raw},
		Busy: doing("the cluster", cloud.Text(raw, "status")), Troubles: troubles("", "the cluster", raw),
	}
	// Google creates and deletes the pools of an Autopilot cluster. They are nobody's to manage.
	autopilot := cloud.Get(raw, "autopilot.enabled") == true
	pools := []any{}
	for _, pool := range objects(raw["nodePools"]) {
		name := cloud.Text(pool, "name")
		path := itemPath(name)
		reading.IDs[path], reading.Versions[path], reading.Raw[path] = cloud.Text(pool, "selfLink"), cloud.Text(pool, "etag"), pool
		if reading.Busy == "" {
			reading.Busy = doing("the node pool "+name, cloud.Text(pool, "status"))
		}
		reading.Troubles = append(reading.Troubles, troubles(path, "the node pool "+name, pool)...)
		if !autopilot {
			pools = append(pools, poolConfig(pool))
		}
	}
	reading.Config["nodePools"] = pools
	return reading, nil
}

func doing(what, status string) string {
	switch status {
	case "PROVISIONING", "RECONCILING", "STOPPING":
		return fmt.Sprintf("%s is %s", what, status)
	default:
		return ""
	}
}

func troubles(item, what string, raw map[string]any) []cloud.Trouble {
	status := cloud.Text(raw, "status")
	switch status {
	case "ERROR", "DEGRADED", "RUNNING_WITH_ERROR":
	default:
		return nil
	}
	var why []string
	for _, condition := range objects(raw["conditions"]) {
		why = append(why, cloud.Text(condition, "message"))
	}
	if why == nil {
		why = []string{cloud.Text(raw, "statusMessage")}
	}
	return []cloud.Trouble{cloud.NewTrouble(item, what, status, why...)}
}

func objects(list any) []map[string]any {
	items, _ := list.([]any)
	var out []map[string]any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			out = append(out, object)
		}
	}
	return out
}
