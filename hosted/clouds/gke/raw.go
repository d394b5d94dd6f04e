package gke

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// clusterPaths maps our fields to the fields of a Cluster, where both have the same values.
var clusterPaths = same(map[string]string{
	"labels":                              "resourceLabels",
	"networkPolicyEnabled":                "networkPolicy.enabled",
	"masterAuthorizedNetworks.enabled":    "masterAuthorizedNetworksConfig.enabled",
	"masterAuthorizedNetworks.cidrBlocks": "masterAuthorizedNetworksConfig.cidrBlocks",
	"maintenanceWindow":                   dailyStart,
	"autopilotConfig.enabled":             "autopilot.enabled",
},
	"description", "network", "subnetwork", "clusterIpv4Cidr", "enableKubernetesAlpha", "loggingService", "monitoringService", "locations",
	"ipAllocationPolicy.useIpAliases", "ipAllocationPolicy.createSubnetwork", "ipAllocationPolicy.subnetworkName",
	"ipAllocationPolicy.clusterIpv4CidrBlock", "ipAllocationPolicy.clusterSecondaryRangeName",
	"ipAllocationPolicy.servicesIpv4CidrBlock", "ipAllocationPolicy.servicesSecondaryRangeName", "ipAllocationPolicy.nodeIpv4CidrBlock",
	"privateClusterConfig.enablePrivateEndpoint", "privateClusterConfig.enablePrivateNodes", "privateClusterConfig.masterIpv4CidrBlock")

// poolPaths maps our fields of a pool to the fields of a NodePool.
var poolPaths = same(nil, "version", "initialNodeCount", "autoscaling.enabled", "autoscaling.minNodeCount", "autoscaling.maxNodeCount",
	"management.autoRepair", "management.autoUpgrade", "config.labels", "config.machineType", "config.imageType", "config.diskType",
	"config.diskSizeGb", "config.localSsdCount", "config.oauthScopes", "config.preemptible", "config.tags", "config.taints",
	"config.bootDiskKmsKey", "config.serviceAccount")

// addons lists the add-ons, and whether each is enabled if GKE does not mention it. GKE says whether an
// add-on is disabled.
var addons = map[string]bool{"httpLoadBalancing": true, "horizontalPodAutoscaling": true, "networkPolicyConfig": false}

const (
	dailyStart = "maintenancePolicy.window.dailyMaintenanceWindow.startTime"
	// GKE has two fields for recurring windows.
	recurring    = "maintenancePolicy.window.recurringWindow"
	recurringToo = "maintenancePolicy.window.recurringMaintenanceWindow"
	// maxPods is the path of a number that GKE writes as text.
	maxPods = "maxPodsConstraint.maxPodsPerNode"
)

func same(paths map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for path, there := range paths {
		out[path] = there
	}
	for _, path := range more {
		out[path] = path
	}
	return out
}

// there converts a configuration to an object of GKE.
func there(config map[string]any, paths map[string]string) map[string]any {
	out := map[string]any{}
	for path, place := range paths {
		if value := cloud.Get(config, path); value != nil {
			out = cloud.Put(out, place, value)
		}
	}
	return out
}

// here converts an object of GKE to a configuration.
func here(raw map[string]any, paths map[string]string) map[string]any {
	out := map[string]any{}
	for path, place := range paths {
		if value := cloud.Get(raw, place); value != nil {
			out = cloud.Put(out, path, value)
		}
	}
	return out
}

func rawPool(pool map[string]any) map[string]any {
	raw := cloud.Put(there(pool, poolPaths), "name", pool["name"])
	if pods := pool["maxPodsConstraint"]; pods != nil {
		raw = cloud.Put(raw, maxPods, fmt.Sprint(pods))
	}
	return raw
}

func poolConfig(raw map[string]any) map[string]any {
	pool := cloud.Put(here(raw, poolPaths), "name", raw["name"])
	if pods, err := strconv.ParseInt(cloud.Text(raw, maxPods), 10, 32); err == nil {
		pool["maxPodsConstraint"] = pods
	}
	if taints := cloud.Get(raw, "config.taints"); taints != nil {
		pool = cloud.Put(pool, "config.taints", only(taints, "key", "value", "effect"))
	}
	return pool
}

// only removes the fields that the configuration does not know from each item of a list.
func only(list any, names ...string) []any {
	items, _ := list.([]any)
	out := []any{}
	for _, item := range items {
		raw, _ := item.(map[string]any)
		out = append(out, here(raw, same(nil, names...)))
	}
	return out
}

// rawAddons says for each add-on whether it is disabled.
func rawAddons(config any) map[string]any {
	enabled, _ := config.(map[string]any)
	out := map[string]any{}
	for name := range addons {
		if on, ok := enabled[name].(bool); ok {
			out[name] = map[string]any{"disabled": !on}
		}
	}
	return out
}

func addonsConfig(raw any) map[string]any {
	object, _ := raw.(map[string]any)
	out := map[string]any{}
	for name, on := range addons {
		if object[name] != nil {
			on = cloud.Get(object, name+".disabled") != true
		}
		out[name] = on
	}
	return out
}

// isZone reports whether a location is a zone. A zone is a region with a letter, such as europe-west3-a.
func isZone(location string) bool { return strings.Count(location, "-") == 2 }

// segment returns what follows a name in the ID of a resource.
func segment(id, name string) string {
	_, rest, _ := strings.Cut(id, "/"+name+"/")
	out, _, _ := strings.Cut(rest, "/")
	return out
}
