package gke

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// untold stands for the values that an operation sets, because GKE reports only the type of the operation.
const untold merge.Text = `"a value that GKE does not report"`

// changes lists the fields without a version that an operation of a type may set.
var changes = map[string][]string{
	"UPDATE_CLUSTER":           {"networkPolicyEnabled"},
	"SET_NODE_POOL_SIZE":       {"initialNodeCount"},
	"SET_NODE_POOL_MANAGEMENT": {"management.autoRepair", "management.autoUpgrade"},
}

// OperationIDs lists the operations, for the requests that GKE does not refuse when somebody else was faster.
// GKE keeps operations for some days.
func (c *Client) OperationIDs(ctx context.Context, item string) ([]string, error) {
	out, err := c.do(ctx, http.MethodGet, c.location("operations"), nil)
	if err != nil {
		return nil, c.wrap(err, "listing the operations")
	}
	var ids []string
	for _, raw := range objects(out["operations"]) {
		if segment(cloud.Text(raw, "targetLink"), "clusters") == c.Name && operation(raw).Item == item {
			ids = append(ids, cloud.Text(raw, "name"))
		}
	}
	return ids, nil
}

// Operation describes one of these operations.
func (c *Client) Operation(ctx context.Context, _, id string) (cloud.Operation, error) {
	raw, err := c.do(ctx, http.MethodGet, c.location("operations", id), nil)
	if notFound(err, "operations/"+id) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Operation{}, c.wrap(err, "reading the operation "+id)
	}
	return operation(raw), nil
}

func operation(raw map[string]any) cloud.Operation {
	out := cloud.Operation{ID: cloud.Text(raw, "name"), Done: cloud.Text(raw, "status") == "DONE", Message: cloud.Text(raw, "error.message")}
	out.Failed = raw["error"] != nil
	out.Values = map[string]merge.Text{}
	if pool := segment(cloud.Text(raw, "targetLink"), "nodePools"); pool != "" {
		out.Item = itemPath(pool)
	}
	for _, path := range changes[cloud.Text(raw, "operationType")] {
		if out.Item != "" {
			path = out.Item + "." + path
		}
		out.Values[path] = untold
	}
	// If it is not a valid time, Created stays zero.
	out.Created, _ = time.Parse(time.RFC3339Nano, strings.TrimSpace(cloud.Text(raw, "startTime")))
	return out
}
