package eks

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Read reads the cluster with its groups. It sends two requests, one for each group, and one for the add-on.
// If groups have launch templates of ours, it sends one more, and one for each of these.
func (c *Client) Read(ctx context.Context) (cloud.Reading, error) {
	out, err := c.API.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &c.Cluster})
	if notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Reading{}, c.wrap(err, "reading")
	}
	reading := cloud.Reading{Complete: true, IDs: map[string]string{"": aws.ToString(out.Cluster.Arn)}, Raw: map[string]map[string]any{}}
	if created := out.Cluster.CreatedAt; created != nil {
		// The ARN has only the name.
		reading.UID = created.UTC().Format(time.RFC3339Nano)
	}
	if out.Cluster.Status != types.ClusterStatusActive {
		reading.Busy = fmt.Sprintf("the cluster is %s", out.Cluster.Status)
	}
	config := c.clusterConfig(out.Cluster)
	if config.EBSCSIDriver, err = c.hasAddon(ctx); err != nil {
		return cloud.Reading{}, err
	}
	if err := c.readGroups(ctx, config, &reading); err != nil {
		return cloud.Reading{}, err
	}
	reading.Config, err = merge.Tree(config)
	return reading, err
}

func (c *Client) clusterConfig(cluster *types.Cluster) *v1alpha1.EKSConfig {
	config := &v1alpha1.EKSConfig{
		DisplayName: c.Cluster, Region: c.Region, KubernetesVersion: cluster.Version, ServiceRole: cluster.RoleArn,
		Tags: pointers(cluster.Tags), SecretsEncryption: aws.Bool(len(cluster.EncryptionConfig) > 0), LoggingTypes: []string{},
	}
	if network := cluster.KubernetesNetworkConfig; network != nil {
		config.IPFamily = optional(string(network.IpFamily))
	}
	for _, encryption := range cluster.EncryptionConfig {
		if encryption.Provider != nil {
			config.KMSKey = encryption.Provider.KeyArn
		}
	}
	if vpc := cluster.ResourcesVpcConfig; vpc != nil {
		config.PublicAccess, config.PrivateAccess = aws.Bool(vpc.EndpointPublicAccess), aws.Bool(vpc.EndpointPrivateAccess)
		config.PublicAccessSources, config.Subnets, config.SecurityGroups = vpc.PublicAccessCidrs, vpc.SubnetIds, vpc.SecurityGroupIds
	}
	if cluster.Logging != nil {
		for _, setup := range cluster.Logging.ClusterLogging {
			for _, log := range setup.Types {
				if aws.ToBool(setup.Enabled) {
					config.LoggingTypes = append(config.LoggingTypes, string(log))
				}
			}
		}
	}
	return config
}

func (c *Client) hasAddon(ctx context.Context) (*bool, error) {
	_, err := c.API.DescribeAddon(ctx, &eks.DescribeAddonInput{ClusterName: &c.Cluster, AddonName: aws.String(addon)})
	if err != nil && !notFound(err) {
		return nil, c.wrap(err, "reading the add-on "+addon)
	}
	return aws.Bool(err == nil), nil
}

func (c *Client) readGroups(ctx context.Context, config *v1alpha1.EKSConfig, reading *cloud.Reading) error {
	config.NodeGroups = []v1alpha1.EKSNodeGroup{}
	names, err := c.groupNames(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		out, err := c.API.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &c.Cluster, NodegroupName: &name})
		if notFound(err) {
			// It was deleted since it was listed, or this endpoint of EKS does not show it yet.
			reading.Complete = false
			continue
		}
		if err != nil {
			return c.wrap(err, "reading the node group "+name)
		}
		if status := out.Nodegroup.Status; status != types.NodegroupStatusActive && reading.Busy == "" {
			reading.Busy = fmt.Sprintf("the node group %s is %s", name, status)
		}
		reading.IDs[itemPath(name)] = aws.ToString(out.Nodegroup.NodegroupArn)
		config.NodeGroups = append(config.NodeGroups, groupConfig(out.Nodegroup))
	}
	return c.readTemplates(ctx, config.NodeGroups, reading)
}

func (c *Client) groupNames(ctx context.Context) ([]string, error) {
	var names []string
	pages := eks.NewListNodegroupsPaginator(c.API, &eks.ListNodegroupsInput{ClusterName: &c.Cluster})
	for number := 1; pages.HasMorePages(); number++ {
		if err := cloud.Page(number); err != nil {
			return nil, c.wrap(err, "listing the node groups")
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.wrap(err, "listing the node groups")
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

func pointers(values map[string]string) map[string]*string {
	out := make(map[string]*string, len(values))
	for key, value := range values {
		out[key] = &value
	}
	return out
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
