package gke

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// OperationIDs lists the operations: among them are somebody else's, where nothing makes GKE
// refuse ours. It keeps them for some days.
func (c *Client) OperationIDs(ctx context.Context, item string) ([]string, error) {
	out, err := c.do(ctx, http.MethodGet, c.location("operations"), nil)
	if err != nil {
		return nil, c.wrap(err, "listing the operations")
	}
	var ids []string
	for _, raw := range objects(out["operations"]) {
		if segment(cloud.Text(raw, "targetLink"), "clusters") == c.Cluster && operation(raw).Item == item {
			ids = append(ids, cloud.Text(raw, "name"))
		}
	}
	return ids, nil
}

// Operation describes one of them. GKE does not tell which values it sets.
func (c *Client) Operation(ctx context.Context, _, id string) (cloud.Operation, error) {
	raw, err := c.do(ctx, http.MethodGet, c.location("operations", id), nil)
	if err != nil {
		return cloud.Operation{}, c.wrap(err, "reading the operation "+id)
	}
	return operation(raw), nil
}

func operation(raw map[string]any) cloud.Operation {
	out := cloud.Operation{ID: cloud.Text(raw, "name"), Done: cloud.Text(raw, "status") == "DONE", Message: cloud.Text(raw, "error.message")}
	out.Failed = raw["error"] != nil
	if pool := segment(cloud.Text(raw, "targetLink"), "nodePools"); pool != "" {
		out.Item = itemPath(pool)
	}
	// What is no time stays unset.
	out.Created, _ = time.Parse(time.RFC3339Nano, strings.TrimSpace(cloud.Text(raw, "startTime")))
	return out
}
