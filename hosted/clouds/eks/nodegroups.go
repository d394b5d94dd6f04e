package eks

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// nodeGroups reads and changes the node groups of a cluster.
type nodeGroups struct {
	Cluster
	api       *eks.Client
	templates templates
}

func (n nodeGroups) read(ctx context.Context, config *v1alpha1.EKSConfig, reading *cloud.Reading) error {
	config.NodeGroups = []v1alpha1.EKSNodeGroup{}
	names, err := n.names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		out, err := n.api.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &n.Name, NodegroupName: &name})
		if notFound(err) {
			// It was deleted since it was listed, or this endpoint of EKS does not show it yet.
			reading.Complete = false
			continue
		}
		if err != nil {
			return n.wrap(err, "reading the node group "+name)
		}
		note(reading, out.Nodegroup)
		reading.IDs[itemPath(name)] = aws.ToString(out.Nodegroup.NodegroupArn)
		config.NodeGroups = append(config.NodeGroups, groupConfig(out.Nodegroup))
	}
	return n.templates.read(ctx, config.NodeGroups, reading)
}

// note notes what EKS is doing with a group, or what is wrong with it. A group in trouble can be changed and
// deleted.
func note(reading *cloud.Reading, group *types.Nodegroup) {
	what := "the node group " + aws.ToString(group.NodegroupName)
	switch group.Status {
	case types.NodegroupStatusCreating, types.NodegroupStatusUpdating, types.NodegroupStatusDeleting:
		reading.Change(itemPath(aws.ToString(group.NodegroupName)), fmt.Sprintf("%s is %s", what, group.Status))
	case types.NodegroupStatusDegraded, types.NodegroupStatusCreateFailed, types.NodegroupStatusDeleteFailed:
		reading.Troubles = append(reading.Troubles, groupTrouble(group))
	}
}

// groupTrouble describes a group in a bad state, with the issues that EKS names.
func groupTrouble(group *types.Nodegroup) cloud.Trouble {
	name := aws.ToString(group.NodegroupName)
	var issues []string
	if group.Health != nil {
		for _, issue := range group.Health.Issues {
			issues = append(issues, string(issue.Code)+": "+aws.ToString(issue.Message))
		}
	}
	return cloud.NewTrouble(itemPath(name), "the node group "+name, string(group.Status), issues...)
}

func (n nodeGroups) names(ctx context.Context) ([]string, error) {
	var names []string
	pages := eks.NewListNodegroupsPaginator(n.api, &eks.ListNodegroupsInput{ClusterName: &n.Name})
	for number := 1; pages.HasMorePages(); number++ {
		if err := cloud.Page(number); err != nil {
			return nil, n.wrap(err, "listing the node groups")
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, n.wrap(err, "listing the node groups")
		}
		names = append(names, page.Nodegroups...)
	}
	return names, nil
}

func groupConfig(group *types.Nodegroup) v1alpha1.EKSNodeGroup {
	ami := string(group.AmiType)
	spot := group.CapacityType == types.CapacityTypesSpot
	config := v1alpha1.EKSNodeGroup{
		NodegroupName: aws.ToString(group.NodegroupName), Version: group.Version, Labels: pointers(group.Labels), Tags: pointers(group.Tags),
		Subnets: group.Subnets, NodeRole: group.NodeRole, DiskSize: group.DiskSize, RequestSpotInstances: &spot,
		GPU: aws.Bool(strings.Contains(ami, "GPU") || strings.Contains(ami, "NVIDIA")), ARM: aws.Bool(strings.Contains(ami, "ARM_64")),
	}
	if group.AmiType == types.AMITypesCustom {
		// The custom image determines these, and EKS accepts none of them with one.
		config.Version, config.GPU, config.ARM = nil, nil, nil
	}
	if scaling := group.ScalingConfig; scaling != nil {
		config.DesiredSize, config.MinSize, config.MaxSize = scaling.DesiredSize, scaling.MinSize, scaling.MaxSize
	}
	if group.RemoteAccess != nil {
		config.EC2SSHKey = group.RemoteAccess.Ec2SshKey
	}
	switch {
	case spot:
		config.SpotInstanceTypes = group.InstanceTypes
	case len(group.InstanceTypes) > 0:
		config.InstanceType = &group.InstanceTypes[0]
	}
	if template := group.LaunchTemplate; template != nil {
		config.LaunchTemplate = &v1alpha1.EKSLaunchTemplate{ID: template.Id, Name: template.Name}
		if version, err := strconv.ParseInt(aws.ToString(template.Version), 10, 64); err == nil {
			config.LaunchTemplate.Version = &version
		}
	}
	return config
}

func (n nodeGroups) create(ctx context.Context, r request) (*types.Update, error) {
	g := r.group
	if len(g.Subnets) == 0 {
		g.Subnets = r.subnets
	}
	switch {
	case spotType(g):
		return nil, errSpot
	case !set(g.NodeRole):
		return nil, fmt.Errorf("%w: nodeRole: a new node group needs the ARN of a role", cloud.ErrRefused)
	}
	in := &eks.CreateNodegroupInput{
		ClusterName: &n.Name, NodegroupName: &g.NodegroupName, ClientRequestToken: r.token, Version: g.Version, Subnets: g.Subnets,
		NodeRole: g.NodeRole, ScalingConfig: scaling(g), LaunchTemplate: launchTemplate(g.LaunchTemplate),
	}
	in.Labels, _ = split(g.Labels)
	in.Tags, _ = split(g.Tags)
	if inTemplate(g) {
		var err error
		if in.LaunchTemplate, err = n.templates.create(ctx, r); err != nil {
			return nil, err
		}
	} else if g.LaunchTemplate != nil && set(g.InstanceType) {
		in.InstanceTypes = []string{*g.InstanceType}
	}
	if aws.ToBool(g.RequestSpotInstances) {
		in.CapacityType, in.InstanceTypes = types.CapacityTypesSpot, g.SpotInstanceTypes
	}
	switch {
	case set(g.ImageID):
		in.Version = nil // The image determines it.
	case aws.ToBool(g.GPU) && aws.ToBool(g.ARM):
		in.AmiType = types.AMITypesAl2023Arm64Nvidia
	case aws.ToBool(g.GPU):
		in.AmiType = types.AMITypesAl2023X8664Nvidia
	case aws.ToBool(g.ARM):
		in.AmiType = types.AMITypesAl2023Arm64Standard
	}
	_, err := n.api.CreateNodegroup(ctx, in)
	return nil, err
}

func (n nodeGroups) delete(ctx context.Context, r request) (*types.Update, error) {
	_, err := n.api.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: &n.Name, NodegroupName: groupOf(r.Item)})
	if gone(err) != nil {
		return nil, gone(err)
	}
	template := ""
	if r.template != nil {
		template = r.template.ID
	}
	return &types.Update{Id: aws.String(deletionID(template, r.arn))}, nil
}

func (n nodeGroups) version(ctx context.Context, r request) (*types.Update, error) {
	in := &eks.UpdateNodegroupVersionInput{
		ClusterName: &n.Name, NodegroupName: &r.group.NodegroupName, ClientRequestToken: r.token,
		Version: r.group.Version, LaunchTemplate: launchTemplate(r.group.LaunchTemplate),
	}
	switch {
	case r.template == nil:
	case in.LaunchTemplate != nil:
		return nil, errOurs
	default:
		in.LaunchTemplate = &types.LaunchTemplateSpecification{Id: &r.template.ID, Version: &r.template.Version}
	}
	out, err := n.api.UpdateNodegroupVersion(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Update, nil
}

// template creates a version with the changes, and everything else as it was read. Then it moves the
// group to that version. Without a version of Kubernetes in the request, EKS would upgrade the nodes.
func (n nodeGroups) template(ctx context.Context, r request) (*types.Update, error) {
	switch {
	case r.template == nil && r.was.LaunchTemplate != nil:
		return nil, errTheirs
	case r.template == nil:
		return nil, errNoTemplate
	case r.template.More != "":
		return nil, fmt.Errorf("%w: version %s of the launch template %s has %s, which a new version would lose: it is not Spillway's",
			cloud.ErrRefused, r.template.Version, r.template.ID, r.template.More)
	}
	if r.group.RequestSpotInstances = r.was.RequestSpotInstances; spotType(r.group) {
		return nil, errSpot
	}
	data, err := n.templates.data(ctx, r.group)
	if err != nil {
		return nil, err
	}
	at, err := n.templates.add(ctx, &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &r.template.ID, LaunchTemplateData: data, ClientToken: r.versionToken(data), VersionDescription: aws.String(createdByUs)})
	if err != nil {
		return nil, err
	}
	in := &eks.UpdateNodegroupVersionInput{ClusterName: &n.Name, NodegroupName: &r.group.NodegroupName, ClientRequestToken: r.token, LaunchTemplate: at}
	if !set(r.group.ImageID) {
		in.Version = r.was.Version
	}
	out, err := n.api.UpdateNodegroupVersion(ctx, in)
	if err != nil {
		return nil, err
	}
	n.templates.prune(ctx, r)
	return out.Update, nil
}

// size sends the desired size only if the spec changes it, or if EKS would refuse the new bounds with the size that was
// read. EKS keeps what is not sent. A size that was read may be out of date: an autoscaler changes it meanwhile, and EKS
// would end the nodes beyond it.
func (n nodeGroups) size(ctx context.Context, r request) (*types.Update, error) {
	if _, given := r.Set[r.Item+".desiredSize"]; !given {
		r.group.DesiredSize = forced(r.was.DesiredSize, r.group.MinSize, r.group.MaxSize)
	}
	return n.update(ctx, r, &eks.UpdateNodegroupConfigInput{ScalingConfig: scaling(r.group)})
}

// forced returns the nearest size within the bounds if a size is not, and nil if it is.
func forced(size, least, most *int32) *int32 {
	switch {
	case size == nil:
		return nil
	case least != nil && *size < *least:
		return least
	case most != nil && *size > *most:
		return most
	}
	return nil
}

func (n nodeGroups) labels(ctx context.Context, r request) (*types.Update, error) {
	set, remove := split(r.group.Labels)
	return n.update(ctx, r, &eks.UpdateNodegroupConfigInput{Labels: &types.UpdateLabelsPayload{AddOrUpdateLabels: set, RemoveLabels: remove}})
}

func (n nodeGroups) update(ctx context.Context, r request, in *eks.UpdateNodegroupConfigInput) (*types.Update, error) {
	in.ClusterName, in.NodegroupName, in.ClientRequestToken = &n.Name, &r.group.NodegroupName, r.token
	out, err := n.api.UpdateNodegroupConfig(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Update, nil
}

// deletionID names the deletion of a group: by the ID of our template of it, if it has one, and by the ARN of the
// group. A group that is created again with the same name has another ARN.
func deletionID(template, arn string) string { return deletion + template + "/" + arn }

// deleted reports whether a group is gone, and then deletes our template of it, if it has one. It must not do so
// before, because EKS treats a group without its template as broken.
func (n nodeGroups) deleted(ctx context.Context, item, id string) (cloud.Operation, error) {
	operation := cloud.Operation{ID: id, Item: item}
	template, arn, _ := strings.Cut(strings.TrimPrefix(id, deletion), "/")
	out, err := n.api.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &n.Name, NodegroupName: groupOf(item)})
	switch {
	case err == nil && isAnother(out.Nodegroup, arn):
		if used := out.Nodegroup.LaunchTemplate; used != nil && aws.ToString(used.Id) == template {
			template = ""
		}
	case err == nil && out.Nodegroup.Status == types.NodegroupStatusDeleteFailed:
		operation.Done, operation.Failed, operation.Message = true, true, groupTrouble(out.Nodegroup).Message
		return operation, nil
	case !notFound(err):
		return operation, n.wrap(err, "reading the "+item)
	}
	operation.Done = true
	if template == "" {
		return operation, nil
	}
	if err := n.templates.delete(ctx, template); err != nil {
		// The group is gone, as requested.
		operation.Failed, operation.Message = true, err.Error()
	}
	return operation, nil
}

// isAnother reports whether somebody has created a group again that had this ARN and was being deleted. Older names of
// deletions have no ARN: then a group that is ACTIVE is another one.
func isAnother(group *types.Nodegroup, arn string) bool {
	if arn == "" {
		return group.Status == types.NodegroupStatusActive
	}
	return aws.ToString(group.NodegroupArn) != arn
}

func scaling(g v1alpha1.EKSNodeGroup) *types.NodegroupScalingConfig {
	if g.DesiredSize == nil && g.MinSize == nil && g.MaxSize == nil {
		return nil
	}
	return &types.NodegroupScalingConfig{DesiredSize: g.DesiredSize, MinSize: g.MinSize, MaxSize: g.MaxSize}
}

func launchTemplate(t *v1alpha1.EKSLaunchTemplate) *types.LaunchTemplateSpecification {
	if t == nil {
		return nil
	}
	out := &types.LaunchTemplateSpecification{Id: t.ID}
	if t.ID == nil {
		// EKS shows both, but accepts only one of them.
		out.Name = t.Name
	}
	if t.Version != nil {
		out.Version = aws.String(strconv.FormatInt(*t.Version, 10))
	}
	return out
}
