package eks

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/merge"
)

// Operations returns the changes of the cluster, or of one of its groups, that are not known
// yet: from it the caller learns of somebody else's, which EKS does not refuse. What sets
// tags, and makes or deletes groups and add-ons, is no update in EKS, and not listed.
func (c *Client) Operations(ctx context.Context, group string, known map[string]bool) ([]cloud.Operation, error) {
	in := &eks.ListUpdatesInput{Name: &c.Cluster, NodegroupName: optional(group)}
	var operations []cloud.Operation
	for pages := eks.NewListUpdatesPaginator(c.API, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.wrap(err, "listing the updates")
		}
		for _, id := range page.UpdateIds {
			if known[id] {
				continue
			}
			operation, err := c.Operation(ctx, group, id)
			if err != nil {
				return nil, err
			}
			operations = append(operations, operation)
		}
	}
	return operations, nil
}

// Operation returns one of them.
func (c *Client) Operation(ctx context.Context, group, id string) (cloud.Operation, error) {
	out, err := c.API.DescribeUpdate(ctx, &eks.DescribeUpdateInput{Name: &c.Cluster, NodegroupName: optional(group), UpdateId: &id})
	if err != nil {
		return cloud.Operation{}, c.wrap(err, "reading the update "+id)
	}
	update := out.Update
	operation := cloud.Operation{
		ID: id, Done: update.Status != types.UpdateStatusInProgress, Created: aws.ToTime(update.CreatedAt),
		Failed: update.Status == types.UpdateStatusFailed || update.Status == types.UpdateStatusCancelled,
	}
	if group != "" {
		operation.Item = itemPath(group)
	}
	var errs []error
	for _, detail := range update.Errors {
		errs = append(errs, errors.New(string(detail.ErrorCode)+": "+aws.ToString(detail.ErrorMessage)))
	}
	if joined := errors.Join(errs...); joined != nil {
		operation.Message = joined.Error()
	}
	operation.Values = values(operation.Item, update.Params)
	return operation, nil
}

// paths of the parameters of an update, in the cluster and in a group.
var (
	clusterPaths = map[types.UpdateParamType]string{
		types.UpdateParamTypeVersion: "kubernetesVersion", types.UpdateParamTypeEndpointPublicAccess: "publicAccess",
		types.UpdateParamTypeEndpointPrivateAccess: "privateAccess", types.UpdateParamTypePublicAccessCidrs: "publicAccessSources",
		types.UpdateParamTypeClusterLogging: "loggingTypes",
	}
	groupPaths = map[types.UpdateParamType]string{
		types.UpdateParamTypeVersion: "version", types.UpdateParamTypeDesiredSize: "desiredSize", types.UpdateParamTypeMinSize: "minSize",
		types.UpdateParamTypeMaxSize: "maxSize", types.UpdateParamTypeLaunchTemplateName: "launchTemplate.name",
		types.UpdateParamTypeLaunchTemplateVersion: "launchTemplate.version", types.UpdateParamTypeLabelsToAdd: "labels",
		types.UpdateParamTypeLabelsToRemove: "labels",
	}
)

// values returns what the parameters set. They are texts: those that are JSON, or numbers
// and booleans, are taken as such, and others, such as versions, as they are.
func values(item string, params []types.UpdateParam) map[string]merge.Text {
	out := map[string]merge.Text{}
	for _, param := range params {
		path, text := clusterPaths[param.Type], aws.ToString(param.Value)
		if item != "" {
			path = groupPaths[param.Type]
		}
		if path == "" {
			continue
		}
		if item != "" {
			path = item + "." + path
		}
		if param.Type == types.UpdateParamTypeVersion || !json.Valid([]byte(text)) {
			quoted, err := json.Marshal(strings.TrimSpace(text))
			if err != nil {
				continue
			}
			text = string(quoted)
		}
		out[path] = merge.Text(text)
	}
	return out
}
