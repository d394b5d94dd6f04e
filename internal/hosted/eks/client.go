package eks

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// addon is the one that ebsCSIDriver stands for.
const addon = "aws-ebs-csi-driver"

// Client reads and changes one cluster. It holds nothing but the credentials in its API, so
// each cluster has one of its own.
type Client struct {
	API *eks.Client
	// Cluster and Region name it.
	Cluster, Region string
}

func itemPath(group string) string { return fmt.Sprintf("nodeGroups[%q]", group) }

// wrap says what was done, and what the cloud's answer means.
func (c *Client) wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) {
		err = errors.Join(cloud.ErrBusy, err)
	}
	return fmt.Errorf("%s of the EKS cluster %s in %s: %w", what, c.Cluster, c.Region, err)
}

func notFound(err error) bool {
	var missing *types.ResourceNotFoundException
	return errors.As(err, &missing)
}
