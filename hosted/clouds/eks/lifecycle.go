package eks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Create requests the control plane. EKS creates groups and add-ons only once that exists, with their own
// requests: the merge sends them as what the spec has and the cloud lacks.
func (c *Client) Create(ctx context.Context, config map[string]any, token string) error {
	var spec v1alpha1.EKSConfig
	if err := merge.Typed(config, &spec); err != nil {
		return c.wrap(fmt.Errorf("%w: %w", cloud.ErrRefused, err), "creating")
	}
	in, err := c.newCluster(spec)
	if err != nil {
		return c.wrap(err, "creating")
	}
	in.ClientRequestToken = &token
	_, err = c.API.CreateCluster(ctx, in)
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		return nil
	}
	return c.wrap(err, "creating")
}

func (c *Client) newCluster(spec v1alpha1.EKSConfig) (*eks.CreateClusterInput, error) {
	switch {
	case !strings.HasPrefix(aws.ToString(spec.ServiceRole), "arn:"):
		return nil, fmt.Errorf("%w: eksConfig.serviceRole: a new cluster needs the ARN of a role", cloud.ErrRefused)
	case len(spec.Subnets) == 0:
		return nil, fmt.Errorf("%w: eksConfig.subnets: a new cluster needs some, in at least two zones", cloud.ErrRefused)
	case aws.ToBool(spec.SecretsEncryption) && spec.KMSKey == nil:
		return nil, fmt.Errorf("%w: eksConfig.kmsKey: secretsEncryption needs it", cloud.ErrRefused)
	}
	if spec.PublicAccessSources != nil && len(spec.PublicAccessSources) == 0 {
		return nil, errOpen
	}
	in := &eks.CreateClusterInput{
		Name: &c.Cluster, RoleArn: spec.ServiceRole, Version: spec.KubernetesVersion,
		ResourcesVpcConfig: &types.VpcConfigRequest{
			SubnetIds: spec.Subnets, SecurityGroupIds: spec.SecurityGroups, PublicAccessCidrs: spec.PublicAccessSources,
			EndpointPublicAccess: spec.PublicAccess, EndpointPrivateAccess: spec.PrivateAccess,
		},
	}
	in.Tags, _ = split(spec.Tags)
	if spec.IPFamily != nil {
		in.KubernetesNetworkConfig = &types.KubernetesNetworkConfigRequest{IpFamily: types.IpFamily(*spec.IPFamily)}
	}
	if aws.ToBool(spec.SecretsEncryption) {
		in.EncryptionConfig = []types.EncryptionConfig{{Provider: &types.Provider{KeyArn: spec.KMSKey}, Resources: []string{"secrets"}}}
	}
	if spec.LoggingTypes != nil {
		in.Logging = loggingSetup(spec.LoggingTypes)
	}
	return in, nil
}

// Delete deletes the groups, and the cluster once it has none, because EKS refuses that before. Its requests
// have no version, so the cluster must have been read just before.
func (c *Client) Delete(ctx context.Context, reading cloud.Reading, _ string) error {
	groups := slices.Sorted(maps.Keys(reading.IDs))
	for _, item := range groups {
		if item == "" {
			continue
		}
		_, err := c.API.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: &c.Cluster, NodegroupName: groupOf(item)})
		if going(err) != nil {
			return c.wrap(err, "deleting the "+item)
		}
	}
	if len(groups) > 1 {
		return nil
	}
	if err := c.deleteTemplates(ctx); err != nil {
		return err
	}
	_, err := c.API.DeleteCluster(ctx, &eks.DeleteClusterInput{Name: &c.Cluster})
	if reading.Busy != "" {
		// It may be in deletion already, or be finishing something else first.
		err = going(err)
	}
	return c.wrap(gone(err), "deleting")
}

// going ignores the error for something that is being deleted already.
func going(err error) error {
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) {
		return nil
	}
	return gone(err)
}
