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
		Busy: doing("the cluster", cloud.Text(raw, "status")),
	}
	pools := []any{}
	for _, pool := range objects(raw["nodePools"]) {
		name := cloud.Text(pool, "name")
		path := itemPath(name)
		reading.IDs[path], reading.Versions[path], reading.Raw[path] = cloud.Text(pool, "selfLink"), cloud.Text(pool, "etag"), pool
		if reading.Busy == "" {
			reading.Busy = doing("the node pool "+name, cloud.Text(pool, "status"))
		}
		pools = append(pools, poolConfig(pool))
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
