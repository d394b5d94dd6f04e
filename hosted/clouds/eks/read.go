package eks

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Read reads the cluster with its groups. It sends two requests, one for each group, and one for the add-on.
// If groups have launch templates of ours, it sends one more, and one for each of these.
func (c *Client) Read(ctx context.Context) (cloud.Reading, error) {
	out, err := c.API.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &c.Name})
	if notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Reading{}, c.wrap(err, "reading")
	}
	reading := cloud.Reading{Complete: true, IDs: map[string]string{"": aws.ToString(out.Cluster.Arn)}, Raw: map[string]map[string]any{}}
	if created := out.Cluster.CreatedAt; created != nil {
		// The ARN has only the name.
		reading.UID = created.UTC().Format(time.RFC3339Nano)
	}
	switch status := out.Cluster.Status; status {
	case types.ClusterStatusCreating, types.ClusterStatusUpdating, types.ClusterStatusDeleting, types.ClusterStatusPending:
		reading.Busy = fmt.Sprintf("the cluster is %s", status)
	case types.ClusterStatusFailed:
		reading.Troubles = []cloud.Trouble{cloud.NewTrouble("", "the cluster", string(status), clusterIssues(out.Cluster.Health)...)}
	}
	config := c.config(out.Cluster)
	if err := c.controlPlane().readAddon(ctx, config, &reading); err != nil {
		return cloud.Reading{}, err
	}
	if err := c.groups().read(ctx, config, &reading); err != nil {
		return cloud.Reading{}, err
	}
	reading.Config, err = merge.Tree(config)
	return reading, err
}

// clusterIssues returns what EKS says of a cluster's health.
func clusterIssues(health *types.ClusterHealth) []string {
	if health == nil {
		return nil
	}
	var issues []string
	for _, issue := range health.Issues {
		issues = append(issues, string(issue.Code)+": "+aws.ToString(issue.Message))
	}
	return issues
}

func pointers(values map[string]string) map[string]*string {
	out := make(map[string]*string, len(values))
	for key, value := range values {
		out[key] = &value
	}
	return out
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
