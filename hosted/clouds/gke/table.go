// Package gke is the client of Google Kubernetes Engine. Its table says which fields a cluster has, and which
// call changes each.
package gke

import (
	"fmt"
	"slices"

	"github.com/spillway-io/spillway/hosted/clouds/normal"
	"github.com/spillway-io/spillway/hosted/merge"
)

// The calls, in the order in which they are sent. GKE changes one field at a time.
const (
	updateVersion    = "UpdateCluster(desiredMasterVersion)"
	updateAddons     = "UpdateCluster(desiredAddonsConfig)"
	updateNetworks   = "UpdateCluster(desiredMasterAuthorizedNetworksConfig)"
	updateLogging    = "UpdateCluster(desiredLoggingService)"
	updateMonitoring = "UpdateCluster(desiredMonitoringService)"
	setNetworkPolicy = "SetNetworkPolicy"
	updateLocations  = "UpdateCluster(desiredLocations)"
	setMaintenance   = "SetMaintenancePolicy"
	setLabels        = "SetLabels"
	createPool       = "CreateNodePool"
	deletePool       = "DeleteNodePool"
	updatePool       = "UpdateNodePool(nodeVersion)"
	updatePoolLabels = "UpdateNodePool(labels)"
	updatePoolTags   = "UpdateNodePool(tags)"
	updatePoolTaints = "UpdateNodePool(taints)"
	updatePoolImage  = "UpdateNodePool(imageType)"
	updatePoolNodes  = "UpdateNodePool(machineType)"
	updatePoolScale  = "UpdateCluster(desiredNodePoolAutoscaling)"
	setPoolManager   = "SetNodePoolManagement"
	setPoolSize      = "SetNodePoolSize"
)

// Table describes the clusters of GKE. Most calls have an etag or a fingerprint.
var Table = merge.New([]merge.Call{
	{Name: updateVersion, Guard: merge.ByVersion},
	{Name: updateAddons, Guard: merge.ByVersion, Whole: true},
	{Name: updateNetworks, Guard: merge.ByVersion, Whole: true},
	{Name: updateLogging, Guard: merge.ByVersion},
	{Name: updateMonitoring, Guard: merge.ByVersion},
	{Name: setNetworkPolicy, Guard: merge.ByOperations, Whole: true},
	{Name: updateLocations, Guard: merge.ByVersion},
	{Name: setMaintenance, Guard: merge.ByVersion, Whole: true},
	{Name: setLabels, Guard: merge.ByVersion, Whole: true},
	{Name: createPool, Guard: merge.ByOperations},
	{Name: deletePool, Guard: merge.ByOperations, After: []string{createPool}},
	{Name: updatePool, Guard: merge.ByVersion},
	{Name: updatePoolLabels, Guard: merge.ByVersion, Whole: true},
	{Name: updatePoolTags, Guard: merge.ByVersion},
	{Name: updatePoolTaints, Guard: merge.ByVersion, Whole: true},
	{Name: updatePoolImage, Guard: merge.ByVersion},
	{Name: updatePoolNodes, Guard: merge.ByVersion},
	{Name: updatePoolScale, Guard: merge.ByVersion, Whole: true},
	{Name: setPoolManager, Guard: merge.ByOperations, Whole: true},
	{Name: setPoolSize, Guard: merge.ByOperations},
}, slices.Concat(cluster, immutable(merge.Scalar,
	"projectID", "clusterName", "region", "zone", "description", "enableKubernetesAlpha",
	"ipAllocationPolicy.useIpAliases", "ipAllocationPolicy.createSubnetwork", "ipAllocationPolicy.subnetworkName",
	"ipAllocationPolicy.clusterSecondaryRangeName", "ipAllocationPolicy.servicesSecondaryRangeName",
	"privateClusterConfig.enablePrivateEndpoint", "privateClusterConfig.enablePrivateNodes", "privateClusterConfig.masterIpv4CidrBlock",
	"autopilotConfig.enabled", "customerManagedEncryptionKey.ringName", "customerManagedEncryptionKey.keyName",
), as(normal.Network, "network", "subnetwork"), as(normal.Range, "clusterIpv4Cidr", "ipAllocationPolicy.clusterIpv4CidrBlock",
	"ipAllocationPolicy.servicesIpv4CidrBlock", "ipAllocationPolicy.nodeIpv4CidrBlock",
), pool, immutable(merge.Scalar,
	"nodePools[].maxPodsConstraint", "nodePools[].config.localSsdCount", "nodePools[].config.preemptible", "nodePools[].config.bootDiskKmsKey",
), as(normal.Default, "nodePools[].config.serviceAccount"), []merge.Field{
	{Path: "nodePools[].config.oauthScopes", Shape: merge.Set, Immutable: true, Same: normal.Default},
}))

var cluster = []merge.Field{
	{Path: "kubernetesVersion", Shape: merge.Scalar, Call: updateVersion, Normalize: normal.Version, Same: normal.Prefix},
	{Path: "clusterAddons.httpLoadBalancing", Shape: merge.Scalar, Call: updateAddons},
	{Path: "clusterAddons.horizontalPodAutoscaling", Shape: merge.Scalar, Call: updateAddons},
	{Path: "clusterAddons.networkPolicyConfig", Shape: merge.Scalar, Call: updateAddons},
	{Path: "masterAuthorizedNetworks.enabled", Shape: merge.Scalar, Call: updateNetworks},
	{Path: "masterAuthorizedNetworks.cidrBlocks", Shape: merge.Keyed, Owned: true, KeyOf: network, Call: updateNetworks},
	{Path: "loggingService", Shape: merge.Scalar, Call: updateLogging},
	{Path: "monitoringService", Shape: merge.Scalar, Call: updateMonitoring},
	{Path: "networkPolicyEnabled", Shape: merge.Scalar, Call: setNetworkPolicy},
	{Path: "locations", Shape: merge.Set, Call: updateLocations},
	{Path: "maintenanceWindow", Shape: merge.Scalar, Call: setMaintenance},
	{Path: "labels", Shape: merge.Map, Call: setLabels},
}

var pool = []merge.Field{
	{Path: "nodePools", Shape: merge.Keyed, Key: "name", Call: createPool, Delete: deletePool},
	{Path: "nodePools[].version", Shape: merge.Scalar, Call: updatePool, Normalize: normal.Version, Same: normal.Prefix},
	{Path: "nodePools[].initialNodeCount", Shape: merge.Scalar, Call: setPoolSize, Floats: scalesItself},
	{Path: "nodePools[].autoscaling.enabled", Shape: merge.Scalar, Call: updatePoolScale},
	{Path: "nodePools[].autoscaling.minNodeCount", Shape: merge.Scalar, Call: updatePoolScale},
	{Path: "nodePools[].autoscaling.maxNodeCount", Shape: merge.Scalar, Call: updatePoolScale},
	{Path: "nodePools[].management.autoRepair", Shape: merge.Scalar, Call: setPoolManager},
	{Path: "nodePools[].management.autoUpgrade", Shape: merge.Scalar, Call: setPoolManager},
	{Path: "nodePools[].config.labels", Shape: merge.Map, Call: updatePoolLabels},
	{Path: "nodePools[].config.taints", Shape: merge.Keyed, Owned: true, KeyOf: taint, Call: updatePoolTaints},
	{Path: "nodePools[].config.tags", Shape: merge.Set, Call: updatePoolTags},
	{Path: "nodePools[].config.imageType", Shape: merge.Scalar, Call: updatePoolImage, Same: imageOrDefault},
	{Path: "nodePools[].config.machineType", Shape: merge.Scalar, Call: updatePoolNodes, Same: normal.Default},
	{Path: "nodePools[].config.diskType", Shape: merge.Scalar, Call: updatePoolNodes, Same: normal.Default},
	{Path: "nodePools[].config.diskSizeGb", Shape: merge.Scalar, Call: updatePoolNodes, Same: normal.Default},
}

func immutable(shape merge.Shape, paths ...string) []merge.Field {
	var fields []merge.Field
	for _, path := range paths {
		fields = append(fields, merge.Field{Path: path, Shape: shape, Immutable: true})
	}
	return fields
}

// as returns fields that cannot be changed, and whose value in the spec may be written in other words, or left to GKE.
func as(same func(spec, upstream any) bool, paths ...string) []merge.Field {
	fields := immutable(merge.Scalar, paths...)
	for i := range fields {
		fields[i].Same = same
	}
	return fields
}

// imageOrDefault compares the types of images, which GKE returns in upper case.
func imageOrDefault(spec, upstream any) bool { return spec == nil || normal.SameName(spec, upstream) }

func scalesItself(pool map[string]any) bool {
	autoscaling, _ := pool["autoscaling"].(map[string]any)
	return autoscaling["enabled"] == true
}

func network(block any) string {
	m, _ := block.(map[string]any)
	return fmt.Sprint(normal.CIDR(m["cidrBlock"]))
}

func taint(item any) string {
	m, _ := item.(map[string]any)
	return fmt.Sprint(m["key"], ":", m["effect"])
}
