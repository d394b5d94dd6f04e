package eks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// OperationIDs lists the updates. EKS does not refuse updates of others; this list shows them. Setting tags,
// and creating or deleting groups and add-ons, are not updates in EKS, and not listed. The list of the cluster has
// the updates of its add-on.
func (c *Client) OperationIDs(ctx context.Context, item string) ([]string, error) {
	ids, err := c.updates(ctx, &eks.ListUpdatesInput{Name: &c.Name, NodegroupName: groupOf(item)})
	if err != nil || item != "" {
		return ids, err
	}
	more, err := c.updates(ctx, &eks.ListUpdatesInput{Name: &c.Name, AddonName: aws.String(addon)})
	for _, id := range more {
		ids = append(ids, ofAddon+id)
	}
	return ids, err
}

func (c *Client) updates(ctx context.Context, in *eks.ListUpdatesInput) ([]string, error) {
	var ids []string
	pages := eks.NewListUpdatesPaginator(c.API, in)
	for number := 1; pages.HasMorePages(); number++ {
		if err := cloud.Page(number); err != nil {
			return nil, c.wrap(err, "listing the updates")
		}
		page, err := pages.NextPage(ctx)
		if notFound(err) {
			// The group or add-on does not exist yet, or any more, so it has no updates.
			return nil, nil
		}
		if err != nil {
			return nil, c.wrap(err, "listing the updates")
		}
		ids = append(ids, page.UpdateIds...)
	}
	return ids, nil
}

// Operation describes an update, or the deletion of a group.
func (c *Client) Operation(ctx context.Context, item, id string) (cloud.Operation, error) {
	if strings.HasPrefix(id, deletion) {
		return c.groups().deleted(ctx, item, id)
	}
	in := &eks.DescribeUpdateInput{Name: &c.Name, NodegroupName: groupOf(item), UpdateId: &id}
	if update, ok := strings.CutPrefix(id, ofAddon); ok {
		in.UpdateId, in.AddonName = &update, aws.String(addon)
	}
	out, err := c.API.DescribeUpdate(ctx, in)
	if notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Operation{}, c.wrap(err, "reading the update "+id)
	}
	update := out.Update
	operation := cloud.Operation{
		ID: id, Item: item, Done: update.Status != types.UpdateStatusInProgress, Created: aws.ToTime(update.CreatedAt),
		Failed: update.Status == types.UpdateStatusFailed || update.Status == types.UpdateStatusCancelled,
	}
	var errs []error
	for _, detail := range update.Errors {
		errs = append(errs, errors.New(string(detail.ErrorCode)+": "+aws.ToString(detail.ErrorMessage)))
	}
	if joined := errors.Join(errs...); joined != nil {
		operation.Message = joined.Error()
	}
	operation.Values = values(operation.Item, update.Params)
	inside, err := c.templates().values(ctx, item, update.Params)
	maps.Copy(operation.Values, inside)
	return operation, err
}

// clusterPaths and groupPaths map the parameters of an update to our fields.
var (
	clusterPaths = map[types.UpdateParamType]string{
		types.UpdateParamTypeVersion: "kubernetesVersion", types.UpdateParamTypeEndpointPublicAccess: "publicAccess",
		types.UpdateParamTypeEndpointPrivateAccess: "privateAccess", types.UpdateParamTypePublicAccessCidrs: "publicAccessSources",
		types.UpdateParamTypeClusterLogging: "loggingTypes", types.UpdateParamTypeServiceAccountRoleArn: "ebsCSIDriverRole",
	}
	groupPaths = map[types.UpdateParamType]string{
		types.UpdateParamTypeVersion: "version", types.UpdateParamTypeDesiredSize: "desiredSize", types.UpdateParamTypeMinSize: "minSize",
		types.UpdateParamTypeMaxSize: "maxSize", types.UpdateParamTypeLaunchTemplateName: "launchTemplate.name",
		types.UpdateParamTypeLaunchTemplateVersion: "launchTemplate.version", types.UpdateParamTypeLabelsToAdd: "labels",
		types.UpdateParamTypeLabelsToRemove: "labels",
	}
)

// labels returns the labels that a parameter sets or removes, one by one.
func labels(path, content string) map[string]merge.Text {
	var set map[string]string
	var gone []string
	if json.Unmarshal([]byte(content), &set) != nil && json.Unmarshal([]byte(content), &gone) != nil {
		return nil
	}
	out := map[string]merge.Text{}
	for key, value := range set {
		out[fmt.Sprintf("%s[%q]", path, key)] = text(value)
	}
	for _, key := range gone {
		out[fmt.Sprintf("%s[%q]", path, key)] = merge.Null
	}
	return out
}

// values returns the values that the parameters set. Parameters are texts. Those that are valid JSON, such as
// numbers, booleans and lists, are decoded. Others, such as versions, are taken literally.
func values(item string, params []types.UpdateParam) map[string]merge.Text {
	out := map[string]merge.Text{}
	for _, param := range params {
		path, content := clusterPaths[param.Type], aws.ToString(param.Value)
		if item != "" {
			path = groupPaths[param.Type]
		}
		if path == "" {
			continue
		}
		if item != "" {
			path = item + "." + path
		}
		if param.Type == types.UpdateParamTypeLabelsToAdd || param.Type == types.UpdateParamTypeLabelsToRemove {
			maps.Copy(out, labels(path, content))
			continue
		}
		if param.Type == types.UpdateParamTypeVersion || !json.Valid([]byte(content)) {
			out[path] = text(strings.TrimSpace(content))
			continue
		}
		out[path] = merge.Text(content)
	}
	return out
}
