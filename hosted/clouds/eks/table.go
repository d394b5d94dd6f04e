// Package eks is the client of Amazon EKS. Its table says which fields a cluster has, and which call changes
// each.
package eks

import (
	"slices"

	"github.com/spillway-io/spillway/hosted/clouds/normal"
	"github.com/spillway-io/spillway/hosted/merge"
)

// The calls, in the order in which they are sent. The version of a group must not be above the version of the
// control plane, so that comes first.
const (
	updateVersion       = "UpdateClusterVersion"
	updateAccess        = "UpdateClusterConfig(access)"
	tagCluster          = "TagResource(cluster)"
	updateLogging       = "UpdateClusterConfig(logging)"
	createGroup         = "CreateNodegroup"
	deleteGroup         = "DeleteNodegroup"
	updateGroupVersion  = "UpdateNodegroupVersion"
	updateGroupTemplate = "CreateLaunchTemplateVersion"
	updateGroupSize     = "UpdateNodegroupConfig(scaling)"
	updateGroupLabels   = "UpdateNodegroupConfig(labels)"
	tagGroup            = "TagResource(nodegroup)"
	setAddon            = "CreateAddon"
)

// autoscaled is the tag with which users assign a group to the cluster autoscaler. EKS has no field for it.
const autoscaled = "k8s.io/cluster-autoscaler/enabled"

// Table describes the clusters of EKS. EKS has no versions. It keeps a list of most changes, which also shows
// other users' changes. It changes several groups at a time, but not a group and the cluster.
var Table = merge.New([]merge.Call{
	{Name: updateVersion, Guard: merge.ByOperations},
	{Name: updateAccess, Guard: merge.ByOperations, Whole: true},
	{Name: tagCluster, Guard: merge.ByReading},
	{Name: updateLogging, Guard: merge.ByOperations},
	{Name: createGroup, Guard: merge.ByOperations, Parallel: true},
	{Name: deleteGroup, Guard: merge.ByOperations, Parallel: true, After: []string{createGroup}},
	{Name: updateGroupVersion, Guard: merge.ByOperations, Whole: true, Parallel: true},
	{Name: updateGroupTemplate, Guard: merge.ByOperations, Whole: true, Parallel: true},
	{Name: updateGroupSize, Guard: merge.ByOperations, Whole: true, Parallel: true},
	{Name: updateGroupLabels, Guard: merge.ByOperations, Parallel: true},
	{Name: tagGroup, Guard: merge.ByReading, Parallel: true},
	{Name: setAddon, Guard: merge.ByOperations},
}, slices.Concat(cluster, group, template))

var cluster = []merge.Field{
	{Path: "displayName", Shape: merge.Scalar, Immutable: true},
	{Path: "region", Shape: merge.Scalar, Immutable: true},
	{Path: "ipFamily", Shape: merge.Scalar, Immutable: true, Same: normal.SameName},
	{Path: "secretsEncryption", Shape: merge.Scalar, Immutable: true},
	{Path: "kmsKey", Shape: merge.Scalar, Immutable: true},
	{Path: "subnets", Shape: merge.Set, Immutable: true, Same: normal.Default},
	{Path: "securityGroups", Shape: merge.Set, Immutable: true, Same: normal.Default},
	{Path: "serviceRole", Shape: merge.Scalar, Immutable: true, Same: sameRole},
	{Path: "kubernetesVersion", Shape: merge.Scalar, Call: updateVersion, Normalize: normal.Version},
	{Path: "publicAccess", Shape: merge.Scalar, Call: updateAccess},
	{Path: "privateAccess", Shape: merge.Scalar, Call: updateAccess},
	{Path: "publicAccessSources", Shape: merge.Set, Call: updateAccess, Normalize: normal.CIDR},
	{Path: "tags", Shape: merge.Map, Call: tagCluster},
	{Path: "loggingTypes", Shape: merge.Set, Call: updateLogging},
	{Path: "ebsCSIDriver", Shape: merge.Scalar, Call: setAddon},
	{Path: "nodeGroups", Shape: merge.Keyed, Key: "nodegroupName", Call: createGroup, Delete: deleteGroup},
}

var group = []merge.Field{
	{Path: "nodeGroups[].version", Shape: merge.Scalar, Call: updateGroupVersion, Normalize: normal.Version},
	{Path: "nodeGroups[].launchTemplate.id", Shape: merge.Scalar, Call: updateGroupVersion},
	{Path: "nodeGroups[].launchTemplate.name", Shape: merge.Scalar, Call: updateGroupVersion},
	{Path: "nodeGroups[].launchTemplate.version", Shape: merge.Scalar, Call: updateGroupVersion},
	{Path: "nodeGroups[].desiredSize", Shape: merge.Scalar, Call: updateGroupSize, Floats: scalesItself},
	{Path: "nodeGroups[].minSize", Shape: merge.Scalar, Call: updateGroupSize},
	{Path: "nodeGroups[].maxSize", Shape: merge.Scalar, Call: updateGroupSize},
	{Path: "nodeGroups[].labels", Shape: merge.Map, Call: updateGroupLabels},
	{Path: "nodeGroups[].tags", Shape: merge.Map, Call: tagGroup},
	{Path: "nodeGroups[].gpu", Shape: merge.Scalar, Immutable: true},
	{Path: "nodeGroups[].arm", Shape: merge.Scalar, Immutable: true},
	{Path: "nodeGroups[].subnets", Shape: merge.Set, Immutable: true, Same: normal.Default},
	{Path: "nodeGroups[].nodeRole", Shape: merge.Scalar, Immutable: true, Same: sameRole},
	{Path: "nodeGroups[].requestSpotInstances", Shape: merge.Scalar, Immutable: true},
	{Path: "nodeGroups[].spotInstanceTypes", Shape: merge.Set, Immutable: true},
}

// template has the fields that are in the launch template of a group. A change creates a new version of the
// template, which has all of them.
var template = []merge.Field{
	{Path: "nodeGroups[].imageId", Shape: merge.Scalar, Call: updateGroupTemplate},
	{Path: "nodeGroups[].diskSize", Shape: merge.Scalar, Call: updateGroupTemplate},
	{Path: "nodeGroups[].instanceType", Shape: merge.Scalar, Call: updateGroupTemplate},
	{Path: "nodeGroups[].ec2SshKey", Shape: merge.Scalar, Call: updateGroupTemplate},
	{Path: "nodeGroups[].userData", Shape: merge.Scalar, Call: updateGroupTemplate},
	{Path: "nodeGroups[].resourceTags", Shape: merge.Map, Call: updateGroupTemplate},
}

func scalesItself(group map[string]any) bool {
	tags, _ := group["tags"].(map[string]any)
	return tags[autoscaled] == "true"
}
