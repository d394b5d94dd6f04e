package eks

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// addon is the add-on that ebsCSIDriver installs.
const addon = "aws-ebs-csi-driver"

// errOpen: EKS treats an empty list as all addresses.
var errOpen = fmt.Errorf("%w: eksConfig.publicAccessSources is empty, which EKS treats as 0.0.0.0/0: all addresses. "+
	"Set that explicitly, or set publicAccess to false", cloud.ErrRefused)

// controlPlane changes the control plane of a cluster, and its add-on.
type controlPlane struct {
	Cluster
	api *eks.Client
}

func (c controlPlane) version(ctx context.Context, r request) (*types.Update, error) {
	out, err := c.api.UpdateClusterVersion(ctx, &eks.UpdateClusterVersionInput{
		Name: &c.Name, ClientRequestToken: r.token, Version: r.config.KubernetesVersion,
	})
	if err != nil {
		return nil, err
	}
	return out.Update, nil
}

// access always sends both fields. If only one changes, the other is sent as it was read.
func (c controlPlane) access(ctx context.Context, r request) (*types.Update, error) {
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{ClientRequestToken: r.token, ResourcesVpcConfig: &types.VpcConfigRequest{
		EndpointPublicAccess: r.config.PublicAccess, EndpointPrivateAccess: r.config.PrivateAccess,
	}})
}

func (c controlPlane) sources(ctx context.Context, r request) (*types.Update, error) {
	cidrs := r.config.PublicAccessSources
	if len(cidrs) == 0 {
		return nil, errOpen
	}
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{
		ClientRequestToken: r.token, ResourcesVpcConfig: &types.VpcConfigRequest{PublicAccessCidrs: cidrs},
	})
}

func (c controlPlane) logging(ctx context.Context, r request) (*types.Update, error) {
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{ClientRequestToken: r.token, Logging: loggingSetup(r.config.LoggingTypes)})
}

func (c controlPlane) updateConfig(ctx context.Context, in *eks.UpdateClusterConfigInput) (*types.Update, error) {
	in.Name = &c.Name
	out, err := c.api.UpdateClusterConfig(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.Update, nil
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

func (c controlPlane) addon(ctx context.Context, r request) (*types.Update, error) {
	if aws.ToBool(r.config.EBSCSIDriver) {
		_, err := c.api.CreateAddon(ctx, &eks.CreateAddonInput{ClusterName: &c.Name, AddonName: aws.String(addon), ClientRequestToken: r.token})
		return nil, err
	}
	_, err := c.api.DeleteAddon(ctx, &eks.DeleteAddonInput{ClusterName: &c.Name, AddonName: aws.String(addon)})
	return nil, gone(err)
}

func (c controlPlane) hasAddon(ctx context.Context) (*bool, error) {
	_, err := c.api.DescribeAddon(ctx, &eks.DescribeAddonInput{ClusterName: &c.Name, AddonName: aws.String(addon)})
	if err != nil && !notFound(err) {
		return nil, c.wrap(err, "reading the add-on "+addon)
	}
	return aws.Bool(err == nil), nil
}
