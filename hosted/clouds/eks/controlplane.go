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

// access sends what the spec changes, in one request. If the sources came after publicAccess, the endpoint would be
// open to all addresses in between. If one of the two kinds of access changes, the other is sent as it was read.
func (c controlPlane) access(ctx context.Context, r request) (*types.Update, error) {
	vpc := &types.VpcConfigRequest{}
	_, public := r.Set["publicAccess"]
	if _, private := r.Set["privateAccess"]; public || private {
		vpc.EndpointPublicAccess, vpc.EndpointPrivateAccess = r.config.PublicAccess, r.config.PrivateAccess
	}
	_, given := r.Set["publicAccessSources"]
	closes := vpc.EndpointPublicAccess != nil && !*vpc.EndpointPublicAccess
	switch {
	case given && len(r.config.PublicAccessSources) > 0:
		vpc.PublicAccessCidrs = r.config.PublicAccessSources
	case given && !closes:
		// An endpoint that is closed by the same request needs no sources.
		return nil, errOpen
	}
	return c.updateConfig(ctx, &eks.UpdateClusterConfigInput{ClientRequestToken: r.token, ResourcesVpcConfig: vpc})
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
