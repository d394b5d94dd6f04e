package eks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/merge"
)

// addon is the one that ebsCSIDriver stands for.
const addon = "aws-ebs-csi-driver"

// Client reads and changes one cluster. It holds nothing but the credentials in its APIs, so
// each cluster has one of its own.
type Client struct {
	API *eks.Client
	// EC2 has the launch templates.
	EC2 *ec2.Client
	// Cluster and Region name it.
	Cluster, Region string
}

// The cloud.Client that it is.
var _ cloud.Client = &Client{}

// Table describes the configuration.
func (c *Client) Table() *merge.Table { return Table }

// Idempotent is true: EKS knows tokens.
func (c *Client) Idempotent() bool { return true }

func itemPath(group string) string { return fmt.Sprintf("nodeGroups[%q]", group) }

// groupOf is the inverse of itemPath; nil for the cluster.
func groupOf(item string) *string {
	quoted := strings.TrimSuffix(strings.TrimPrefix(item, "nodeGroups["), "]")
	group, err := strconv.Unquote(quoted)
	if err != nil {
		return nil
	}
	return &group
}

// kinds of errors by the codes of AWS.
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
	// Those of EC2, of which all others that begin with Invalid are refusals.
	"UnauthorizedOperation": cloud.ErrForbidden,
	"AuthFailure":           cloud.ErrCredentials,
	"RequestLimitExceeded":  cloud.ErrThrottled,
}

// wrap says what was done, and what the cloud's answer means.
func (c *Client) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the EKS cluster %s in %s", what, c.Cluster, c.Region), Message: err.Error(), Cause: err}
	var answer smithy.APIError
	if errors.As(err, &answer) {
		code, message := answer.ErrorCode(), answer.ErrorMessage()
		// What follows is another text each time.
		message, _, _ = strings.Cut(message, " Encoded authorization failure message:")
		wrapped.Kind, wrapped.Message = kinds[code], code+": "+message
		if wrapped.Kind == nil && strings.HasPrefix(code, "Invalid") {
			wrapped.Kind = cloud.ErrRefused
		}
	}
	return wrapped
}

// notFound is EKS's own answer for what a request is about. A 404 of a proxy is no such type.
func notFound(err error) bool {
	var missing *types.ResourceNotFoundException
	return errors.As(err, &missing)
}
