package dial

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
)

func (d *Dialer) eks(
	ctx context.Context, cluster v1alpha1.EKSConfig, with v1alpha1.Credentials, secret *corev1.Secret, through *http.Client,
) (cloud.Client, error) {
	options := awseks.Options{Region: cluster.Region, HTTPClient: through}
	templates := ec2.Options{Region: cluster.Region, HTTPClient: through}
	var err error
	if options.Credentials, err = aws4(ctx, cluster.Region, with, secret, through); err != nil {
		return nil, err
	}
	templates.Credentials = options.Credentials
	if d.EKS != "" {
		options.BaseEndpoint = aws.String(d.EKS)
	}
	if d.EC2 != "" {
		templates.BaseEndpoint = aws.String(d.EC2)
	}
	if d.Once {
		options.RetryMaxAttempts, templates.RetryMaxAttempts = 1, 1
	}
	options.APIOptions = append(options.APIOptions, changesOnce)
	templates.APIOptions = append(templates.APIOptions, changesOnce)
	return &eks.Client{API: awseks.New(options), EC2: ec2.New(templates), Cluster: eks.Cluster{Name: cluster.DisplayName, Region: cluster.Region}}, nil
}

// changesOnce keeps the library from repeating a request that changes something. If the first one was carried out
// and its answer was lost, AWS may refuse the second, and that would count as a refusal of both.
func changesOnce(stack *middleware.Stack) error {
	if id := stack.ID(); strings.HasPrefix(id, "Describe") || strings.HasPrefix(id, "List") {
		return nil
	}
	_, err := stack.Finalize.Swap("Retry", retry.NewAttemptMiddleware(aws.NopRetryer{}, smithyhttp.RequestCloner))
	return err
}

// aws4 returns the credentials that sign requests: those of the Secret alone, without anything from the
// environment; or the identity of the process, or of a role that it assumes.
func aws4(ctx context.Context, region string, with v1alpha1.Credentials, secret *corev1.Secret, through *http.Client) (aws.CredentialsProvider, error) {
	if with.WorkloadIdentity == nil {
		values, err := keys(with, secret, "accessKeyID", "secretAccessKey")
		if err != nil {
			return nil, err
		}
		return credentials.NewStaticCredentialsProvider(values["accessKeyID"], values["secretAccessKey"], ""), nil
	}
	own, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(through))
	if err != nil {
		return nil, fmt.Errorf("finding the operator's own identity in AWS: %w: %w", cloud.ErrCredentials, err)
	}
	if role := with.WorkloadIdentity.Identity; role != "" {
		return aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(own), role)), nil
	}
	return own.Credentials, nil
}
