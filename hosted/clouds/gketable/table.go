// Package gketable has the table of Google Kubernetes Engine: which fields a cluster has, and which call changes each. It is apart
// from the client, so that kubectl spillway needs no library of the cloud.
package gketable

import (
	"fmt"
	"slices"

	"github.com/spillway-io/spillway/hosted/clouds/normal"
	"github.com/spillway-io/spillway/hosted/merge"
)

// The calls, in the order in which they are sent. GKE changes one field at a time.
const (
	UpdateVersion    = "UpdateCluster(desiredMasterVersion)"
	UpdateAddons     = "UpdateCluster(desiredAddonsConfig)"
	UpdateNetworks   = "UpdateCluster(desiredMasterAuthorizedNetworksConfig)"
	UpdateLogging    = "UpdateCluster(desiredLoggingService)"
	UpdateMonitoring = "UpdateCluster(desiredMonitoringService)"
	SetNetworkPolicy = "SetNetworkPolicy"
	UpdateLocations  = "UpdateCluster(desiredLocations)"
	SetMaintenance   = "SetMaintenancePolicy"
	SetLabels        = "SetLabels"
	CreatePool       = "CreateNodePool"
	DeletePool       = "DeleteNodePool"
	UpdatePool       = "UpdateNodePool(nodeVersion)"
	UpdatePoolLabels = "UpdateNodePool(labels)"
	UpdatePoolTags   = "UpdateNodePool(tags)"
	UpdatePoolTaints = "UpdateNodePool(taints)"
	UpdatePoolImage  = "UpdateNodePool(imageType)"
	UpdatePoolNodes  = "UpdateNodePool(machineType)"
	UpdatePoolScale  = "UpdateCluster(desiredNodePoolAutoscaling)"
	SetPoolManager   = "SetNodePoolManagement"
	SetPoolSize      = "SetNodePoolSize"
)

// Table describes the clusters of GKE. Most calls have an etag or a fingerprint.
var Table = merge.New([]merge.Call{
	{Name: UpdateVersion, Guard: merge.ByVersion, Rights: update},
	{Name: UpdateAddons, Guard: merge.ByVersion, Whole: true, Rights: update},
	{Name: UpdateNetworks, Guard: merge.ByVersion, Whole: true, Rights: update},
	{Name: UpdateLogging, Guard: merge.ByVersion, Rights: update},
	{Name: UpdateMonitoring, Guard: merge.ByVersion, Rights: update},
	{Name: SetNetworkPolicy, Guard: merge.ByOperations, Whole: true, Nodes: merge.NodesReplaced, Rights: update},
	{Name: UpdateLocations, Guard: merge.ByVersion, Nodes: merge.NodesResized, Rights: update},
	{Name: SetMaintenance, Guard: merge.ByVersion, Whole: true, Rights: update},
	{Name: SetLabels, Guard: merge.ByVersion, Whole: true, Rights: update},
	{Name: CreatePool, Guard: merge.ByOperations, Nodes: merge.NodesAdded, Rights: update},
	{Name: DeletePool, Guard: merge.ByOperations, After: []string{CreatePool}, Nodes: merge.NodesRemoved, Rights: update},
	{Name: UpdatePool, Guard: merge.ByVersion, Nodes: merge.NodesReplaced, Rights: update},
	{Name: UpdatePoolLabels, Guard: merge.ByVersion, Whole: true, Rights: update},
	{Name: UpdatePoolTags, Guard: merge.ByVersion, Rights: update},
	{Name: UpdatePoolTaints, Guard: merge.ByVersion, Whole: true, Rights: update},
	{Name: UpdatePoolImage, Guard: merge.ByVersion, Nodes: merge.NodesReplaced, Rights: update},
	{Name: UpdatePoolNodes, Guard: merge.ByVersion, Nodes: merge.NodesReplaced, Rights: update},
	{Name: UpdatePoolScale, Guard: merge.ByVersion, Whole: true, Nodes: merge.NodesResized, Rights: update},
	{Name: SetPoolManager, Guard: merge.ByOperations, Whole: true, Rights: update},
	{Name: SetPoolSize, Guard: merge.ByOperations, Nodes: merge.NodesResized, Rights: update},
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

// update are the rights to change a cluster and its pools. Before and after a request, the operations are listed.
var update = []string{"container.clusters.update", "container.operations.list", "container.operations.get"}

var cluster = []merge.Field{
	{Path: "kubernetesVersion", Shape: merge.Scalar, Call: UpdateVersion, Normalize: normal.Version, Same: normal.Prefix},
	{Path: "clusterAddons.httpLoadBalancing", Shape: merge.Scalar, Call: UpdateAddons},
	{Path: "clusterAddons.horizontalPodAutoscaling", Shape: merge.Scalar, Call: UpdateAddons},
	{Path: "clusterAddons.networkPolicyConfig", Shape: merge.Scalar, Call: UpdateAddons},
	{Path: "masterAuthorizedNetworks.enabled", Shape: merge.Scalar, Call: UpdateNetworks},
	{Path: "masterAuthorizedNetworks.cidrBlocks", Shape: merge.Keyed, Owned: true, KeyOf: network, Call: UpdateNetworks},
	{Path: "loggingService", Shape: merge.Scalar, Call: UpdateLogging},
	{Path: "monitoringService", Shape: merge.Scalar, Call: UpdateMonitoring},
	{Path: "networkPolicyEnabled", Shape: merge.Scalar, Call: SetNetworkPolicy},
	{Path: "locations", Shape: merge.Set, Call: UpdateLocations},
	{Path: "maintenanceWindow", Shape: merge.Scalar, Call: SetMaintenance},
	{Path: "labels", Shape: merge.Map, Call: SetLabels},
}

var pool = []merge.Field{
	{Path: "nodePools", Shape: merge.Keyed, Key: "name", Call: CreatePool, Delete: DeletePool},
	{Path: "nodePools[].version", Shape: merge.Scalar, Call: UpdatePool, Normalize: normal.Version, Same: normal.Prefix},
	{Path: "nodePools[].initialNodeCount", Shape: merge.Scalar, Call: SetPoolSize, Floats: scalesItself},
	{Path: "nodePools[].autoscaling.enabled", Shape: merge.Scalar, Call: UpdatePoolScale},
	{Path: "nodePools[].autoscaling.minNodeCount", Shape: merge.Scalar, Call: UpdatePoolScale},
	{Path: "nodePools[].autoscaling.maxNodeCount", Shape: merge.Scalar, Call: UpdatePoolScale},
	{Path: "nodePools[].management.autoRepair", Shape: merge.Scalar, Call: SetPoolManager},
	{Path: "nodePools[].management.autoUpgrade", Shape: merge.Scalar, Call: SetPoolManager},
	{Path: "nodePools[].config.labels", Shape: merge.Map, Call: UpdatePoolLabels},
	{Path: "nodePools[].config.taints", Shape: merge.Keyed, Owned: true, KeyOf: taint, Call: UpdatePoolTaints},
	{Path: "nodePools[].config.tags", Shape: merge.Set, Call: UpdatePoolTags},
	{Path: "nodePools[].config.imageType", Shape: merge.Scalar, Call: UpdatePoolImage, Same: imageOrDefault},
	{Path: "nodePools[].config.machineType", Shape: merge.Scalar, Call: UpdatePoolNodes, Same: normal.Default},
	{Path: "nodePools[].config.diskType", Shape: merge.Scalar, Call: UpdatePoolNodes, Same: normal.Default},
	{Path: "nodePools[].config.diskSizeGb", Shape: merge.Scalar, Call: UpdatePoolNodes, Same: normal.Default},
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
