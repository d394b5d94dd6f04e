package aks

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Send replaces the object that was read, with the changes applied, if it still has the version that was read.
// It ignores the answer, which has the old version: the caller has to read the cluster again.
func (c *Client) Send(ctx context.Context, reading cloud.Reading, write merge.Write, _ string) (operation string, err error) {
	return "", c.wrap(c.send(ctx, reading, write), write.Call)
}

func (c *Client) send(ctx context.Context, reading cloud.Reading, write merge.Write) error {
	switch write.Call {
	case createPool:
		pool := c.inSubnet(patched(map[string]any{}, item(write.Message), poolPaths), reading.Config)
		return c.do(ctx, http.MethodPut, c.poolURL(write), pool, "If-None-Match", "*", nil)
	case deletePool:
		err := c.guarded(ctx, http.MethodDelete, c.poolURL(write), write, nil)
		if noPool(err) {
			return nil
		}
		return err
	case putPool, putPoolVersion:
		pool := patched(reading.Raw[write.Item], item(write.Message), poolPaths)
		return c.guarded(ctx, http.MethodPut, c.poolURL(write), write, pool)
	default:
		return c.guarded(ctx, http.MethodPut, c.url(), write, c.cluster(reading.Raw[""], write))
	}
}

// guarded sends a request with the version of the write, and fails if there is none.
func (c *Client) guarded(ctx context.Context, method, target string, write merge.Write, body any) error {
	if write.Version == "" {
		return cloud.ErrNoVersion
	}
	return c.do(ctx, method, target, body, "If-Match", write.Version, nil)
}

// cluster returns the body of a request that changes the cluster, without the pools. Pools have their own
// requests, and changing a pool does not change the version of the cluster.
func (c *Client) cluster(raw map[string]any, write merge.Write) map[string]any {
	out := c.withWorkspace(patched(raw, write.Message, clusterPaths), write.Message)
	properties, _ := out["properties"].(map[string]any)
	properties = maps.Clone(properties)
	delete(properties, "agentPoolProfiles")
	out["properties"] = properties
	return out
}

// withWorkspace sets the ID of the Log Analytics workspace from its group and name in the configuration.
func (c *Client) withWorkspace(raw, config map[string]any) map[string]any {
	group, name := cloud.Text(config, "logAnalyticsWorkspaceGroup"), cloud.Text(config, "logAnalyticsWorkspaceName")
	if group == "" || name == "" {
		return raw
	}
	return cloud.Put(raw, workspace, fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.OperationalInsights/workspaces/%s", c.Subscription, group, name))
}

func (c *Client) poolURL(write merge.Write) string {
	name, _ := item(write.Message)["name"].(string)
	return c.url("agentPools", name)
}

func item(message map[string]any) map[string]any {
	pools, _ := message["nodePools"].([]any)
	if len(pools) != 1 {
		return nil
	}
	pool, _ := pools[0].(map[string]any)
	return pool
}

// patched returns a copy of raw with the values of the message. A map or a list in the message replaces the
// whole one.
func patched(raw, message map[string]any, paths map[string]string) map[string]any {
	out := maps.Clone(raw)
	for path, value := range message {
		if there := paths[path]; there != "" && (value != nil || strings.Contains(there, ".")) {
			out = cloud.Put(out, there, value)
		}
	}
	return out
}
