package eks

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// errOpen: EKS treats an empty list as all addresses.
var errOpen = fmt.Errorf("%w: eksConfig.publicAccessSources is empty, which EKS treats as 0.0.0.0/0: all addresses. "+
	"Set that explicitly, or set publicAccess to false", cloud.ErrRefused)

// request is a write whose values are decoded.
type request struct {
	merge.Write
	config v1alpha1.EKSConfig
	group  v1alpha1.EKSNodeGroup
	token  *string
	arn    string
	// was is the group as it was read. template is our launch template of it; nil if it has none.
	was      v1alpha1.EKSNodeGroup
	template *templateVersion
	// tags are the tags that were read.
	tags map[string]*string
}

// Send sends one write, and returns EKS's name of the operation, if it has one. EKS carries out requests with
// the same token only once.
func (c *Client) Send(ctx context.Context, reading cloud.Reading, write merge.Write, token string) (string, error) {
	r := request{Write: write, token: &token, arn: reading.IDs[write.Item]}
	if err := merge.Typed(write.Message, &r.config); err != nil {
		return "", c.wrap(err, write.Call)
	}
	if len(r.config.NodeGroups) == 1 {
		r.group = r.config.NodeGroups[0]
	}
	if err := r.read(reading); err != nil {
		return "", c.wrap(err, write.Call)
	}
	send := map[string]func(context.Context, request) (*types.Update, error){
		updateVersion: c.version, updateAccess: c.access, updateSources: c.sources, updateLogging: c.logging, tagCluster: c.tagsOf, tagGroup: c.tagsOf,
		createGroup: c.create, deleteGroup: c.delete, updateGroupVersion: c.groupVersion, updateGroupSize: c.groupSize,
		updateGroupLabels: c.groupLabels, updateGroupTemplate: c.groupTemplate, setAddon: c.addon,
	}[write.Call]
	update, err := send(ctx, r)
	if err != nil || update == nil {
		return "", c.wrap(err, write.Call)
	}
	return aws.ToString(update.Id), nil
}

// read copies from the reading what the write needs.
func (r *request) read(reading cloud.Reading) error {
	var config v1alpha1.EKSConfig
	if err := merge.Typed(reading.Config, &config); err != nil {
		return err
	}
	if r.Item == "" {
		r.tags = config.Tags
	}
	for _, group := range config.NodeGroups {
		if itemPath(group.NodegroupName) == r.Item {
			r.was, r.tags = group, group.Tags
		}
	}
	if ours, ok := reading.Raw[r.Item]["template"].(templateVersion); ok {
		r.template = &ours
	}
	return nil
}

func (c *Client) version(ctx context.Context, r request) (*types.Update, error) {
	out, err := c.API.UpdateClusterVersion(ctx, &eks.UpdateClusterVersionInput{
		Name: &c.Cluster, ClientRequestToken: r.token, Version: r.config.KubernetesVersion,
	})
	if err != nil {
		return nil, err
	}
	return out.Update, nil
}

func (c *Client) updateConfig(ctx context.Context, in *eks.UpdateClusterConfigInput) (*types.Update, error) {
	in.Name = &c.Cluster
	out, err := c.API.UpdateClusterConfig(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Update, nil
}

// access always sends both fields. If only one changes, the other is sent as it was read.
func (c *Client) access(ctx context.Context, r request) (*types.Update, error) {
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{ClientRequestToken: r.token, ResourcesVpcConfig: &types.VpcConfigRequest{
		EndpointPublicAccess: r.config.PublicAccess, EndpointPrivateAccess: r.config.PrivateAccess,
	}})
}

func (c *Client) sources(ctx context.Context, r request) (*types.Update, error) {
	cidrs := r.config.PublicAccessSources
	if len(cidrs) == 0 {
		return nil, errOpen
	}
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{
		ClientRequestToken: r.token, ResourcesVpcConfig: &types.VpcConfigRequest{PublicAccessCidrs: cidrs},
	})
}

func (c *Client) logging(ctx context.Context, r request) (*types.Update, error) {
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{ClientRequestToken: r.token, Logging: loggingSetup(r.config.LoggingTypes)})
}

// loggingSetup says for each type whether it is on, because EKS does not change a type that is left out.
func loggingSetup(logs []string) *types.Logging {
	on, off := types.LogSetup{Enabled: aws.Bool(true)}, types.LogSetup{Enabled: aws.Bool(false)}
	for _, log := range logs {
		on.Types = append(on.Types, types.LogType(log))
	}
	for _, log := range types.LogType("").Values() {
		if !slices.Contains(on.Types, log) {
			off.Types = append(off.Types, log)
		}
	}
	return &types.Logging{ClusterLogging: slices.DeleteFunc([]types.LogSetup{on, off}, func(s types.LogSetup) bool { return len(s.Types) == 0 })}
}

func (c *Client) addon(ctx context.Context, r request) (*types.Update, error) {
	if aws.ToBool(r.config.EBSCSIDriver) {
		_, err := c.API.CreateAddon(ctx, &eks.CreateAddonInput{ClusterName: &c.Cluster, AddonName: aws.String(addon), ClientRequestToken: r.token})
		return nil, err
	}
	_, err := c.API.DeleteAddon(ctx, &eks.DeleteAddonInput{ClusterName: &c.Cluster, AddonName: aws.String(addon)})
	return nil, gone(err)
}

func (c *Client) create(ctx context.Context, r request) (*types.Update, error) {
	g := r.group
	if spotType(g) {
		return nil, errSpot
	}
	in := &eks.CreateNodegroupInput{
		ClusterName: &c.Cluster, NodegroupName: &g.NodegroupName, ClientRequestToken: r.token, Version: g.Version, Subnets: g.Subnets,
		NodeRole: g.NodeRole, ScalingConfig: scaling(g), LaunchTemplate: launchTemplate(g.LaunchTemplate),
	}
	in.Labels, _ = split(g.Labels)
	in.Tags, _ = split(g.Tags)
	if inTemplate(g) {
		var err error
		if in.LaunchTemplate, err = c.newTemplate(ctx, r); err != nil {
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
	case aws.ToBool(g.GPU):
		in.AmiType = types.AMITypesAl2023X8664Nvidia
	case aws.ToBool(g.ARM):
		in.AmiType = types.AMITypesAl2023Arm64Standard
	}
	_, err := c.API.CreateNodegroup(ctx, in)
	return nil, err
}

func (c *Client) delete(ctx context.Context, r request) (*types.Update, error) {
	_, err := c.API.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: &c.Cluster, NodegroupName: groupOf(r.Item)})
	if gone(err) != nil || r.template == nil {
		return nil, gone(err)
	}
	return &types.Update{Id: aws.String(deletion + r.template.ID)}, nil
}

// gone ignores the error for something that is deleted already. Deletions have no token, so it may be our own
// earlier request.
func gone(err error) error {
	if notFound(err) {
		return nil
	}
	return err
}

func (c *Client) groupVersion(ctx context.Context, r request) (*types.Update, error) {
	in := &eks.UpdateNodegroupVersionInput{
		ClusterName: &c.Cluster, NodegroupName: &r.group.NodegroupName, ClientRequestToken: r.token,
		Version: r.group.Version, LaunchTemplate: launchTemplate(r.group.LaunchTemplate),
	}
	switch {
	case r.template == nil:
	case in.LaunchTemplate != nil:
		return nil, errOurs
	default:
		in.LaunchTemplate = &types.LaunchTemplateSpecification{Id: &r.template.ID, Version: &r.template.Version}
	}
	out, err := c.API.UpdateNodegroupVersion(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Update, nil
}

func (c *Client) groupSize(ctx context.Context, r request) (*types.Update, error) {
	return c.updateGroup(ctx, r, &eks.UpdateNodegroupConfigInput{ScalingConfig: scaling(r.group)})
}

func (c *Client) groupLabels(ctx context.Context, r request) (*types.Update, error) {
	set, remove := split(r.group.Labels)
	return c.updateGroup(ctx, r, &eks.UpdateNodegroupConfigInput{Labels: &types.UpdateLabelsPayload{AddOrUpdateLabels: set, RemoveLabels: remove}})
}

func (c *Client) updateGroup(ctx context.Context, r request, in *eks.UpdateNodegroupConfigInput) (*types.Update, error) {
	in.ClusterName, in.NodegroupName, in.ClientRequestToken = &c.Cluster, &r.group.NodegroupName, r.token
	out, err := c.API.UpdateNodegroupConfig(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Update, nil
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

// split separates the values that are set from those that are removed.
func split(values map[string]*string) (set map[string]string, remove []string) {
	for key, value := range values {
		if value == nil {
			remove = append(remove, key)
			continue
		}
		if set == nil {
			set = map[string]string{}
		}
		set[key] = *value
	}
	slices.Sort(remove)
	return set, remove
}
