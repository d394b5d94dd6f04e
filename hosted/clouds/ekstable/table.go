// Package ekstable has the table of Amazon EKS: which fields a cluster has, and which call changes each. It is apart
// from the client, so that kubectl spillway needs no library of the cloud.
package ekstable

import (
	"slices"

	"github.com/spillway-io/spillway/hosted/clouds/normal"
	"github.com/spillway-io/spillway/hosted/merge"
)

// The calls, in the order in which they are sent. The version of a group must not be above the version of the
// control plane, so that comes first.
const (
	UpdateVersion       = "UpdateClusterVersion"
	UpdateAccess        = "UpdateClusterConfig(access)"
	TagCluster          = "TagResource(cluster)"
	UpdateLogging       = "UpdateClusterConfig(logging)"
	CreateGroup         = "CreateNodegroup"
	DeleteGroup         = "DeleteNodegroup"
	UpdateGroupVersion  = "UpdateNodegroupVersion"
	UpdateGroupTemplate = "CreateLaunchTemplateVersion"
	UpdateGroupSize     = "UpdateNodegroupConfig(scaling)"
	UpdateGroupLabels   = "UpdateNodegroupConfig(labels)"
	TagGroup            = "TagResource(nodegroup)"
	SetAddon            = "SetAddon(ebsCSIDriver)"
)

// autoscaled is the tag with which users assign a group to the cluster autoscaler. EKS has no field for it.
const autoscaled = "k8s.io/cluster-autoscaler/enabled"

// Table describes the clusters of EKS. EKS has no versions. It keeps a list of most changes, which also shows
// other users' changes. It changes several groups at a time, but not a group and the cluster.
var Table = merge.New([]merge.Call{
	{Name: UpdateVersion, Guard: merge.ByOperations, Rights: listed("eks:UpdateClusterVersion")},
	{Name: UpdateAccess, Guard: merge.ByOperations, Whole: true, Rights: listed("eks:UpdateClusterConfig")},
	{Name: TagCluster, Guard: merge.ByReading, Rights: tagging},
	{Name: UpdateLogging, Guard: merge.ByOperations, Rights: listed("eks:UpdateClusterConfig")},
	{Name: CreateGroup, Guard: merge.ByOperations, Parallel: true, Nodes: merge.NodesAdded, Rights: listed("eks:CreateNodegroup", "iam:PassRole")},
	{
		Name: DeleteGroup, Guard: merge.ByOperations, Parallel: true, After: []string{CreateGroup}, Nodes: merge.NodesRemoved,
		Rights: listed("eks:DeleteNodegroup", "ec2:DeleteLaunchTemplate"),
	},
	{Name: UpdateGroupVersion, Guard: merge.ByOperations, Whole: true, Parallel: true, Nodes: merge.NodesReplaced, Rights: listed("eks:UpdateNodegroupVersion")},
	{
		Name: UpdateGroupTemplate, Guard: merge.ByOperations, Whole: true, Parallel: true, Nodes: merge.NodesReplaced,
		Rights: listed("ec2:CreateLaunchTemplateVersion", "ec2:DeleteLaunchTemplateVersions", "eks:UpdateNodegroupVersion"),
	},
	{Name: UpdateGroupSize, Guard: merge.ByOperations, Whole: true, Parallel: true, Nodes: merge.NodesResized, Rights: listed("eks:UpdateNodegroupConfig")},
	{Name: UpdateGroupLabels, Guard: merge.ByOperations, Parallel: true, Rights: listed("eks:UpdateNodegroupConfig")},
	{Name: TagGroup, Guard: merge.ByReading, Parallel: true, Rights: tagging},
	{
		Name: SetAddon, Guard: merge.ByOperations, Whole: true,
		Rights: listed("eks:CreateAddon", "eks:UpdateAddon", "eks:DeleteAddon", "iam:PassRole"),
	},
}, slices.Concat(cluster, group, template))

// tagging are the rights to set and remove tags, and to read them before and after.
var tagging = []string{"eks:ListTagsForResource", "eks:TagResource", "eks:UntagResource"}

// listed returns the rights of a request, and those to find out what became of it.
func listed(rights ...string) []string {
	return append(rights, "eks:ListUpdates", "eks:DescribeUpdate")
}

// templating are the rights that a new group takes besides, if it needs a launch template.
var templating = []string{"ec2:CreateLaunchTemplate", "ec2:CreateTags"}

var cluster = []merge.Field{
	{Path: "displayName", Shape: merge.Scalar, Immutable: true},
	{Path: "region", Shape: merge.Scalar, Immutable: true},
	{Path: "ipFamily", Shape: merge.Scalar, Immutable: true, Same: normal.SameName},
	{Path: "secretsEncryption", Shape: merge.Scalar, Immutable: true},
	{Path: "kmsKey", Shape: merge.Scalar, Immutable: true},
	{Path: "subnets", Shape: merge.Set, Immutable: true, Same: normal.Default},
	{Path: "securityGroups", Shape: merge.Set, Immutable: true, Same: normal.Default},
	{Path: "serviceRole", Shape: merge.Scalar, Immutable: true, Same: sameRole},
	{Path: "kubernetesVersion", Shape: merge.Scalar, Call: UpdateVersion, Normalize: normal.Version},
	{Path: "publicAccess", Shape: merge.Scalar, Call: UpdateAccess},
	{Path: "privateAccess", Shape: merge.Scalar, Call: UpdateAccess},
	{Path: "publicAccessSources", Shape: merge.Set, Call: UpdateAccess, Normalize: normal.CIDR},
	{Path: "tags", Shape: merge.Map, Call: TagCluster},
	{Path: "loggingTypes", Shape: merge.Set, Call: UpdateLogging},
	{Path: "ebsCSIDriver", Shape: merge.Scalar, Call: SetAddon},
	{Path: "ebsCSIDriverRole", Shape: merge.Scalar, Call: SetAddon},
	{Path: "nodeGroups", Shape: merge.Keyed, Key: "nodegroupName", Call: CreateGroup, Delete: DeleteGroup},
}

var group = []merge.Field{
	{Path: "nodeGroups[].version", Shape: merge.Scalar, Call: UpdateGroupVersion, Normalize: normal.Version},
	{Path: "nodeGroups[].launchTemplate.id", Shape: merge.Scalar, Call: UpdateGroupVersion},
	{Path: "nodeGroups[].launchTemplate.name", Shape: merge.Scalar, Call: UpdateGroupVersion},
	{Path: "nodeGroups[].launchTemplate.version", Shape: merge.Scalar, Call: UpdateGroupVersion},
	{Path: "nodeGroups[].desiredSize", Shape: merge.Scalar, Call: UpdateGroupSize, Floats: scalesItself},
	{Path: "nodeGroups[].minSize", Shape: merge.Scalar, Call: UpdateGroupSize},
	{Path: "nodeGroups[].maxSize", Shape: merge.Scalar, Call: UpdateGroupSize},
	{Path: "nodeGroups[].labels", Shape: merge.Map, Call: UpdateGroupLabels},
	{Path: "nodeGroups[].tags", Shape: merge.Map, Call: TagGroup},
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
	{Path: "nodeGroups[].imageId", Shape: merge.Scalar, Call: UpdateGroupTemplate, Rights: templating},
	{Path: "nodeGroups[].diskSize", Shape: merge.Scalar, Call: UpdateGroupTemplate, Rights: templating},
	{Path: "nodeGroups[].instanceType", Shape: merge.Scalar, Call: UpdateGroupTemplate, Rights: templating},
	{Path: "nodeGroups[].ec2SshKey", Shape: merge.Scalar, Call: UpdateGroupTemplate, Rights: templating},
	{Path: "nodeGroups[].userData", Shape: merge.Scalar, Call: UpdateGroupTemplate, Secret: true, Rights: templating},
	{Path: "nodeGroups[].resourceTags", Shape: merge.Map, Call: UpdateGroupTemplate, Rights: templating},
}

func scalesItself(group map[string]any) bool {
	tags, _ := group["tags"].(map[string]any)
	return tags[autoscaled] == "true"
}
