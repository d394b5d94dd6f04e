package aks

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/akstable"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Send replaces the object that was read, with the changes applied, if it still has the version that was read.
// It ignores the answer, which has the old version: the caller has to read the cluster again.
func (c *Client) Send(ctx context.Context, reading cloud.Reading, write merge.Write, _ string) (operation string, err error) {
	if err := c.send(ctx, reading, write); err != nil {
		return "", c.wrap(err, write.Call)
	}
	return latest, nil
}

func (c *Client) send(ctx context.Context, reading cloud.Reading, write merge.Write) error {
	pool := item(write.Message)
	target := c.url("agentPools", cloud.Text(pool, "name"))
	switch write.Call {
	case akstable.CreatePool:
		body := c.inSubnet(scaled(patched(map[string]any{}, pool, poolPaths)), reading.Config)
		return c.do(ctx, http.MethodPut, target, body, "If-None-Match", "*", nil)
	case akstable.DeletePool:
		err := c.guarded(ctx, http.MethodDelete, target, write, nil)
		if noPool(err) {
			return nil
		}
		return err
	case akstable.PutPool, akstable.PutPoolVersion:
		return c.guarded(ctx, http.MethodPut, target, write, scaled(patched(reading.Raw[write.Item], pool, poolPaths)))
	default:
		return c.guarded(ctx, http.MethodPut, c.url(), write, c.changed(reading.Raw[""], write))
	}
}

// guarded sends a request with the version of the write, and fails if there is none.
func (c *Client) guarded(ctx context.Context, method, target string, write merge.Write, body any) error {
	if write.Version == "" {
		return cloud.ErrNoVersion
	}
	return c.do(ctx, method, target, body, "If-Match", write.Version, nil)
}

func item(message map[string]any) map[string]any {
	pools, _ := message["nodePools"].([]any)
	if len(pools) != 1 {
		return nil
	}
	pool, _ := pools[0].(map[string]any)
	return pool
}

// scaled returns a pool without limits if it does not scale itself. AKS refuses them then.
func scaled(pool map[string]any) map[string]any {
	properties, _ := pool["properties"].(map[string]any)
	if properties["enableAutoScaling"] == true {
		return pool
	}
	properties = maps.Clone(properties)
	delete(properties, "minCount")
	delete(properties, "maxCount")
	return cloud.Put(pool, "properties", properties)
}

// patched returns a copy of raw with the values of the message. A map or a list in the message replaces the
// whole one.
func patched(raw, message map[string]any, paths map[string]string) map[string]any {
	out := maps.Clone(raw)
	for path, value := range message {
		if there := inCase(raw, paths[path]); there != "" && (value != nil || strings.Contains(there, ".")) {
			out = cloud.Put(out, there, value)
		}
	}
	return out
}
