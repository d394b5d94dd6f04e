// Package eks is the client of Amazon EKS.
package eks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/ekstable"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Table describes the clusters of EKS.
var Table = ekstable.Table

// Client reads and changes one cluster. Its only state is the credentials in its APIs, so each cluster has
// its own Client.
type Client struct {
	API *eks.Client
	// EC2 has the launch templates.
	EC2 *ec2.Client
	Cluster
}

var _ cloud.Client = &Client{}

func (c *Client) controlPlane() controlPlane { return controlPlane{c.Cluster, c.API} }

func (c *Client) templates() templates { return templates{c.Cluster, c.EC2} }

func (c *Client) groups() nodeGroups { return nodeGroups{c.Cluster, c.API, c.templates()} }

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

// notFound reports whether EKS itself says that it does not have what was requested. A proxy's 404 does not
// count.
func notFound(err error) bool {
	var missing *types.ResourceNotFoundException
	return errors.As(err, &missing)
}
