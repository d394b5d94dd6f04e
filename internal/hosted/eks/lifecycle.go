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

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/merge"
)

// Create asks for the control plane. EKS makes groups and add-ons only once it is there, by
// requests of their own: they are sent as what the spec has, and the cloud does not.
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
		return nil, fmt.Errorf("%w: eksConfig.serviceRole: a new cluster takes the ARN of a role", cloud.ErrRefused)
	case len(spec.Subnets) == 0:
		return nil, fmt.Errorf("%w: eksConfig.subnets: a new cluster has some, in at least two zones", cloud.ErrRefused)
	case aws.ToBool(spec.SecretsEncryption) && spec.KMSKey == nil:
		return nil, fmt.Errorf("%w: eksConfig.kmsKey: secretsEncryption takes one", cloud.ErrRefused)
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

// Delete deletes the groups, and once there are none, the cluster: EKS refuses that before.
// Its requests name no version, so it is for a cluster that was just read.
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
		// It may be on its way out, or have to end something else before.
		err = going(err)
	}
	return c.wrap(gone(err), "deleting")
}

// going: what is being deleted cannot be deleted again.
func going(err error) error {
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) {
		return nil
	}
	return gone(err)
}
