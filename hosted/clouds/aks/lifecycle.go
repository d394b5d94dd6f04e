package aks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Create requests the cluster with its pools. It does nothing if the cluster exists.
func (c *Client) Create(ctx context.Context, config map[string]any, _ string) error {
	raw, err := c.newCluster(cloud.Set(config))
	if err == nil {
		err = c.do(ctx, http.MethodPut, c.url(), raw, "If-None-Match", "*", nil)
	}
	var answer *azcore.ResponseError
	if errors.As(err, &answer) && answer.StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return c.wrap(err, "creating")
}

func (c *Client) newCluster(config map[string]any) (map[string]any, error) {
	pools, _ := config["nodePools"].([]any)
	switch {
	case len(pools) == 0:
		return nil, fmt.Errorf("%w: aksConfig.nodePools: a new cluster needs at least one, of mode System", cloud.ErrRefused)
	case cloud.Text(config, "dnsPrefix") == "":
		return nil, fmt.Errorf("%w: aksConfig.dnsPrefix: a new cluster needs it", cloud.ErrRefused)
	case config["managedIdentity"] == false:
		return nil, fmt.Errorf("%w: aksConfig.managedIdentity: a new cluster needs it", cloud.ErrRefused)
	}
	raw := c.withWorkspace(patched(map[string]any{}, config, clusterPaths), config)
	raw["identity"] = map[string]any{"type": "SystemAssigned"}
	if id := cloud.Text(config, "userAssignedIdentity"); id != "" {
		raw["identity"] = map[string]any{"type": "UserAssigned", "userAssignedIdentities": map[string]any{id: map[string]any{}}}
	}
	if key := cloud.Text(config, "sshPublicKey"); key != "" {
		raw = cloud.Put(raw, "properties.linuxProfile.ssh.publicKeys", []any{map[string]any{"keyData": key}})
	}
	profiles := []any{}
	for _, pool := range pools {
		of, _ := pool.(map[string]any)
		// In this request, a pool's properties are next to its name.
		properties, _ := c.inSubnet(patched(map[string]any{}, of, poolPaths), config)["properties"].(map[string]any)
		profile := maps.Clone(properties)
		if profile == nil {
			profile = map[string]any{}
		}
		profile["name"] = of["name"]
		profiles = append(profiles, profile)
	}
	return cloud.Put(raw, "properties.agentPoolProfiles", profiles), nil
}

// inSubnet puts a new pool into the subnet of the cluster's other pools, unless the pool names one.
func (c *Client) inSubnet(pool, config map[string]any) map[string]any {
	network, subnet := cloud.Text(config, "virtualNetwork"), cloud.Text(config, "subnet")
	if network == "" || subnet == "" || cloud.Text(pool, poolPaths["vnetSubnetID"]) != "" {
		return pool
	}
	group := cloud.Text(config, "virtualNetworkResourceGroup")
	if group == "" {
		group = c.ResourceGroup
	}
	return cloud.Put(pool, poolPaths["vnetSubnetID"],
		fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/virtualNetworks/%s/subnets/%s", c.Subscription, group, network, subnet))
}

// Delete deletes the cluster with its pools, if it still has the version that was read.
func (c *Client) Delete(ctx context.Context, reading cloud.Reading, _ string) error {
	if cloud.Text(reading.Raw[""], "properties.provisioningState") == "Deleting" {
		return nil
	}
	version := reading.Versions[""]
	if version == "" {
		return c.wrap(cloud.ErrNoVersion, "deleting")
	}
	err := c.do(ctx, http.MethodDelete, c.url(), nil, "If-Match", version, nil)
	if c.notFound(err) {
		return nil
	}
	return c.wrap(err, "deleting")
}
