package eks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Create requests the control plane. EKS creates groups and add-ons only once that exists, with their own
// requests: the merge sends them as what the spec has and the cloud lacks.
func (c *Client) Create(ctx context.Context, config map[string]any, token string) error {
	var spec v1alpha1.EKSConfig
	if err := merge.Typed(config, &spec); err != nil {
		return c.wrap(fmt.Errorf("%w: %w", cloud.ErrRefused, err), "creating")
	}
	in, err := c.newCluster(spec)
	if err != nil {
		return c.wrap(err, "creating")
	}
	in.ClientRequestToken = &token
	_, err = c.API.CreateCluster(ctx, in)
	var exists *types.ResourceInUseException
	if errors.As(err, &exists) {
		return nil
	}
	return c.wrap(err, "creating")
}

// Delete deletes the groups, and the cluster once it has none, because EKS refuses that before. Its requests
// have no version, so the cluster must have been read just before.
func (c *Client) Delete(ctx context.Context, reading cloud.Reading, _ string) error {
	groups := slices.Sorted(maps.Keys(reading.IDs))
	for _, item := range groups {
		if item == "" {
			continue
		}
		_, err := c.API.DeleteNodegroup(ctx, &eks.DeleteNodegroupInput{ClusterName: &c.Name, NodegroupName: groupOf(item)})
		if going(err) != nil {
			return c.wrap(err, "deleting the "+item)
		}
	}
	if len(groups) > 1 {
		return nil
	}
	if err := c.templates().deleteAll(ctx); err != nil {
		return err
	}
	_, err := c.API.DeleteCluster(ctx, &eks.DeleteClusterInput{Name: &c.Name})
	if reading.Doing() != "" {
		// It may be in deletion already, or be finishing something else first.
		err = going(err)
	}
	return c.wrap(gone(err), "deleting")
}

// going ignores the error for something that is being deleted already.
func going(err error) error {
	var inUse *types.ResourceInUseException
	if errors.As(err, &inUse) {
		return nil
	}
	return gone(err)
}
