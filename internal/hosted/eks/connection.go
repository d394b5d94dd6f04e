package eks

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// A token is a request to AWS, signed by us, that the cluster sends on to learn who we are.
// The name of the cluster is signed with it, so that no other cluster can use it. It may be
// sent for 60 seconds; the cluster remembers the answer for 15 minutes.
const (
	tokenPrefix   = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	sentWithin    = "60" // seconds
)

// Connection leads to the cluster, as the identity in AWS: one request. That takes an access
// entry in the cluster, which whoever has made the cluster has.
func (c *Client) Connection(ctx context.Context) (cloud.Connection, error) {
	out, err := c.API.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &c.Cluster})
	if notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "reading the address")
	}
	connection := cloud.Connection{Host: aws.ToString(out.Cluster.Endpoint)}
	if authority := out.Cluster.CertificateAuthority; authority != nil {
		if connection.CA, err = base64.StdEncoding.DecodeString(aws.ToString(authority.Data)); err != nil {
			return cloud.Connection{}, fmt.Errorf("the certificate authority of the EKS cluster %s in %s is not base64", c.Cluster, c.Region)
		}
	}
	if connection.Token, err = c.token(ctx); err != nil {
		return cloud.Connection{}, c.wrap(err, "signing a token")
	}
	return connection, nil
}

// token makes no request.
func (c *Client) token(ctx context.Context) (string, error) {
	presigner := sts.NewPresignClient(sts.New(sts.Options{Region: c.Region, Credentials: c.API.Options().Credentials}))
	signed, err := presigner.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, sts.WithPresignClientFromClientOptions(func(o *sts.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue(clusterHeader, c.Cluster), smithyhttp.SetHeaderValue("X-Amz-Expires", sentWithin))
	}))
	if err != nil {
		return "", err
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(signed.URL)), nil
}
