// Package akstable has the table of Azure Kubernetes Service: which fields a cluster has, and which call changes each. It is apart
// from the client, so that kubectl spillway needs no library of the cloud.
package akstable

import (
	"slices"
	"strings"

	"github.com/spillway-io/spillway/hosted/clouds/normal"
	"github.com/spillway-io/spillway/hosted/merge"
)

// The calls, in the order in which they are sent. The version of a pool must not be above the version of the
// control plane, so that comes first.
const (
	PutVersion     = "PUT managedClusters (version)"
	PutCluster     = "PUT managedClusters"
	CreatePool     = "PUT agentPools (new)"
	DeletePool     = "DELETE agentPools"
	PutPoolVersion = "PUT agentPools (version)"
	PutPool        = "PUT agentPools"
)

// Table describes the clusters of AKS. Each request replaces an object as it was read, with its etag. A pool
// has its own etag, and is not part of the request that replaces the cluster.
var Table = merge.New([]merge.Call{
	{Name: PutVersion, Guard: merge.ByVersion, Rights: right("write")},
	{Name: PutCluster, Guard: merge.ByVersion, Whole: true, Rights: right("write")},
	{Name: CreatePool, Guard: merge.ByVersion, Nodes: merge.NodesAdded, Rights: right("agentPools/write")},
	{Name: DeletePool, Guard: merge.ByVersion, After: []string{CreatePool}, Nodes: merge.NodesRemoved, Rights: right("agentPools/delete")},
	{Name: PutPoolVersion, Guard: merge.ByVersion, Nodes: merge.NodesReplaced, Rights: right("agentPools/write")},
	{Name: PutPool, Guard: merge.ByVersion, Whole: true, Rights: right("agentPools/write")},
}, slices.Concat(cluster, immutable(
	"resourceGroup", "clusterName", "networkPlugin", "networkPolicy", "virtualNetwork", "virtualNetworkResourceGroup", "subnet",
	"dnsPrefix", "dnsServiceIp", "outboundType", "loadBalancerSku", "nodeResourceGroup", "linuxAdminUsername", "sshPublicKey",
	"privateCluster", "privateDnsZone", "managedIdentity", "userAssignedIdentity",
), pool))

func right(name string) []string {
	return []string{"Microsoft.ContainerService/managedClusters/" + name}
}

// fold lists the fields that Azure may return in another case than it received.
var fold = []string{
	"resourceGroup", "networkPlugin", "networkPolicy", "virtualNetworkResourceGroup", "outboundType", "loadBalancerSku",
	"nodeResourceGroup", "privateDnsZone", "userAssignedIdentity",
}

var cluster = []merge.Field{
	{Path: "resourceLocation", Shape: merge.Scalar, Immutable: true, Normalize: normal.Location},
	{Path: "serviceCidr", Shape: merge.Scalar, Immutable: true, Normalize: normal.CIDR},
	{Path: "podCidr", Shape: merge.Scalar, Immutable: true, Normalize: normal.CIDR},
	{Path: "kubernetesVersion", Shape: merge.Scalar, Call: PutVersion, Normalize: normal.Version, Same: normal.Prefix},
	{Path: "tags", Shape: merge.Map, Call: PutCluster},
	{Path: "authorizedIpRanges", Shape: merge.Set, Call: PutCluster, Normalize: normal.CIDR},
	{Path: "httpApplicationRouting", Shape: merge.Scalar, Call: PutCluster},
	{Path: "monitoring", Shape: merge.Scalar, Call: PutCluster},
	{Path: "logAnalyticsWorkspaceGroup", Shape: merge.Scalar, Call: PutCluster, Same: normal.SameName},
	{Path: "logAnalyticsWorkspaceName", Shape: merge.Scalar, Call: PutCluster, Same: normal.SameName},
}

var pool = []merge.Field{
	{Path: "nodePools", Shape: merge.Keyed, Key: "name", Call: CreatePool, Delete: DeletePool},
	{Path: "nodePools[].count", Shape: merge.Scalar, Call: PutPool, Nodes: merge.NodesResized, Floats: scalesItself},
	{Path: "nodePools[].minCount", Shape: merge.Scalar, Call: PutPool, Nodes: merge.NodesResized},
	{Path: "nodePools[].maxCount", Shape: merge.Scalar, Call: PutPool, Nodes: merge.NodesResized},
	{Path: "nodePools[].enableAutoScaling", Shape: merge.Scalar, Call: PutPool, Nodes: merge.NodesResized},
	{Path: "nodePools[].orchestratorVersion", Shape: merge.Scalar, Call: PutPoolVersion, Normalize: normal.Version, Same: normal.Prefix},
	{Path: "nodePools[].nodeLabels", Shape: merge.Map, Call: PutPool},
	{Path: "nodePools[].nodeTaints", Shape: merge.Keyed, Owned: true, KeyOf: taintKey, Call: PutPool},
	{Path: "nodePools[].maxSurge", Shape: merge.Scalar, Call: PutPool},
	{Path: "nodePools[].mode", Shape: merge.Scalar, Call: PutPool, Same: normal.SameName},
	{Path: "nodePools[].maxPods", Shape: merge.Scalar, Immutable: true},
	{Path: "nodePools[].vmSize", Shape: merge.Scalar, Immutable: true, Same: normal.SameName},
	{Path: "nodePools[].osDiskSizeGB", Shape: merge.Scalar, Immutable: true, Same: normal.Default},
	{Path: "nodePools[].osDiskType", Shape: merge.Scalar, Immutable: true, Same: normal.SameName},
	{Path: "nodePools[].osType", Shape: merge.Scalar, Immutable: true, Same: normal.SameName},
	{Path: "nodePools[].vnetSubnetID", Shape: merge.Scalar, Immutable: true, Same: normal.SameName},
	{Path: "nodePools[].availabilityZones", Shape: merge.Set, Immutable: true},
}

func immutable(paths ...string) []merge.Field {
	var fields []merge.Field
	for _, path := range paths {
		f := merge.Field{Path: path, Shape: merge.Scalar, Immutable: true}
		if slices.Contains(fold, path) {
			f.Same = normal.SameName
		}
		fields = append(fields, f)
	}
	return fields
}

func scalesItself(pool map[string]any) bool { return pool["enableAutoScaling"] == true }

// taintKey returns key:effect for key=value:effect.
func taintKey(taint any) string {
	text, _ := taint.(string)
	rest, effect, _ := strings.Cut(text, ":")
	key, _, _ := strings.Cut(rest, "=")
	return key + ":" + effect
}
