package eks

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// A token is a request to AWS that we sign, and that the cluster sends to AWS to learn who we are. The
// signature covers the name of the cluster, so no other cluster can use the token. The token is valid for 60
// seconds; the cluster caches the answer for 15 minutes.
const (
	tokenPrefix   = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	sentWithin    = "60" // seconds
)

// Connection returns access to the cluster with the identity in AWS. It sends one request. The identity needs
// an access entry in the cluster; whoever created the cluster has one.
func (c *Client) Connection(ctx context.Context) (cloud.Connection, error) {
	out, err := c.API.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &c.Name})
	if notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "reading the address")
	}
	connection := cloud.Connection{Host: aws.ToString(out.Cluster.Endpoint)}
	if authority := out.Cluster.CertificateAuthority; authority != nil {
		if connection.CA, err = base64.StdEncoding.DecodeString(aws.ToString(authority.Data)); err != nil {
			return cloud.Connection{}, fmt.Errorf("the certificate authority of the EKS cluster %s in %s is not base64", c.Name, c.Region)
		}
	}
	if connection.Token, err = c.token(ctx); err != nil {
		return cloud.Connection{}, c.wrap(err, "signing a token")
	}
	return connection, nil
}

// token signs a token, and sends no request.
func (c *Client) token(ctx context.Context) (string, error) {
	presigner := sts.NewPresignClient(sts.New(sts.Options{Region: c.Region, Credentials: c.API.Options().Credentials}))
	signed, err := presigner.PresignGetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}, sts.WithPresignClientFromClientOptions(func(o *sts.Options) {
		o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue(clusterHeader, c.Name), smithyhttp.SetHeaderValue("X-Amz-Expires", sentWithin))
	}))
	if err != nil {
		return "", err
	}
	return tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(signed.URL)), nil
}
