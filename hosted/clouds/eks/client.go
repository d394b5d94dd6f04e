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

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// addon is the add-on that ebsCSIDriver installs.
const addon = "aws-ebs-csi-driver"

// Client reads and changes one cluster. Its only state is the credentials in its APIs, so each cluster has
// its own Client.
type Client struct {
	API *eks.Client
	// EC2 has the launch templates.
	EC2 *ec2.Client
	// Cluster and Region identify the cluster.
	Cluster, Region string
}

var _ cloud.Client = &Client{}

// Table returns the table of the fields and calls of EKS.
func (c *Client) Table() *merge.Table { return Table }

// Idempotent returns true: EKS recognises the token of a request.
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
func (c *Client) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	wrapped := &cloud.Error{Doing: fmt.Sprintf("%s of the EKS cluster %s in %s", what, c.Cluster, c.Region), Message: err.Error(), Cause: err}
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

// notFound reports whether EKS itself says that it does not have what was requested. A proxy's 404 does not
// count.
func notFound(err error) bool {
	var missing *types.ResourceNotFoundException
	return errors.As(err, &missing)
}
