package gke

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Create requests the cluster with its pools.
func (c *Client) Create(ctx context.Context, config map[string]any, _ string) error {
	config = cloud.Set(config)
	raw := there(config, clusterPaths)
	raw["name"] = c.Name
	if version := config["kubernetesVersion"]; version != nil {
		raw["initialClusterVersion"] = version
	}
	if config["clusterAddons"] != nil {
		raw["addonsConfig"] = rawAddons(config["clusterAddons"])
	}
	if policy, ok := raw["networkPolicy"].(map[string]any); ok {
		raw["networkPolicy"] = withProvider(policy)
	}
	if config["maintenanceWindow"] == "" {
		delete(raw, "maintenancePolicy")
	}
	autopilot := cloud.Get(config, "autopilotConfig.enabled") == true
	pools := []any{}
	for _, pool := range objects(config["nodePools"]) {
		raw, err := c.withKey(rawPool(pool), config["customerManagedEncryptionKey"])
		if err != nil {
			return c.wrap(err, "creating")
		}
		pools = append(pools, raw)
	}
	switch {
	case len(pools) > 0 && autopilot:
		return c.wrap(fmt.Errorf("%w: gkeConfig.nodePools: Google creates the nodes of a cluster with autopilotConfig.enabled", cloud.ErrRefused), "creating")
	case len(pools) == 0 && !autopilot:
		return c.wrap(fmt.Errorf("%w: gkeConfig.nodePools: a new cluster needs at least one", cloud.ErrRefused), "creating")
	case len(pools) > 0:
		raw["nodePools"] = pools
	}
	_, err := c.do(ctx, http.MethodPost, c.location("clusters"), map[string]any{"cluster": raw})
	if exists(err) {
		return nil
	}
	return c.wrap(err, "creating")
}

// Delete deletes the cluster with its pools. GKE's request has no version, so the cluster must have been read
// just before.
func (c *Client) Delete(ctx context.Context, reading cloud.Reading, _ string) error {
	if cloud.Text(reading.Raw[""], "status") == "STOPPING" {
		return nil
	}
	_, err := c.do(ctx, http.MethodDelete, c.cluster(), nil)
	if notFound(err, "clusters/"+c.Name) {
		return nil
	}
	return c.wrap(err, "deleting")
}

func exists(err error) bool {
	var answer *googleapi.Error
	return errors.As(err, &answer) && answer.Code == http.StatusConflict && strings.Contains(answer.Body, "ALREADY_EXISTS")
}
