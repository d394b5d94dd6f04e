package eks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Cluster identifies a cluster in requests, configurations and errors.
type Cluster struct{ Name, Region string }

// kinds maps the error codes of AWS to kinds of errors.
var kinds = map[string]error{
	"ResourceInUseException":               cloud.ErrBusy,
	"AccessDeniedException":                cloud.ErrForbidden,
	"AccessDenied":                         cloud.ErrForbidden,
	"UnrecognizedClientException":          cloud.ErrCredentials,
	"InvalidClientTokenId":                 cloud.ErrCredentials,
	"InvalidSignatureException":            cloud.ErrCredentials,
	"SignatureDoesNotMatch":                cloud.ErrCredentials,
	"ExpiredTokenException":                cloud.ErrCredentials,
	"ExpiredToken":                         cloud.ErrCredentials,
	"InvalidIdentityToken":                 cloud.ErrCredentials,
	"ThrottlingException":                  cloud.ErrThrottled,
	"TooManyRequestsException":             cloud.ErrThrottled,
	"InvalidParameterException":            cloud.ErrRefused,
	"InvalidRequestException":              cloud.ErrRefused,
	"BadRequestException":                  cloud.ErrRefused,
	"ResourceLimitExceededException":       cloud.ErrRefused,
	"UnsupportedAvailabilityZoneException": cloud.ErrRefused,
	// Codes of EC2. All its other codes that begin with Invalid are refusals.
	"UnauthorizedOperation": cloud.ErrForbidden,
	"AuthFailure":           cloud.ErrCredentials,
	"RequestLimitExceeded":  cloud.ErrThrottled,
}

// wrap adds to an error what was attempted, and its kind.
func (c Cluster) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the EKS cluster %s in %s", what, c.Name, c.Region), Message: err.Error(), Cause: err}
	var incomplete smithy.InvalidParamsError
	if errors.As(err, &incomplete) {
		// The library refuses to send it.
		wrapped.Kind = cloud.ErrRefused
	}
	var answer smithy.APIError
	if errors.As(err, &answer) {
		code, message := answer.ErrorCode(), answer.ErrorMessage()
		// The text after this differs each time.
		message, _, _ = strings.Cut(message, " Encoded authorization failure message:")
		wrapped.Kind, wrapped.Message = kinds[code], code+": "+message
		if wrapped.Kind == nil && strings.HasPrefix(code, "Invalid") {
			wrapped.Kind = cloud.ErrRefused
		}
	}
	return wrapped
}

func (c Cluster) newCluster(spec v1alpha1.EKSConfig) (*eks.CreateClusterInput, error) {
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
		Name: &c.Name, RoleArn: spec.ServiceRole, Version: spec.KubernetesVersion,
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

func (c Cluster) config(cluster *types.Cluster) *v1alpha1.EKSConfig {
	config := &v1alpha1.EKSConfig{
		DisplayName: c.Name, Region: c.Region, KubernetesVersion: cluster.Version, ServiceRole: cluster.RoleArn,
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
		config.Subnets, config.SecurityGroups = vpc.SubnetIds, vpc.SecurityGroupIds
		if len(vpc.PublicAccessCidrs) > 0 {
			// Without a public endpoint, EKS may return an empty list. In the spec, that would mean all addresses.
			config.PublicAccessSources = vpc.PublicAccessCidrs
		}
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
