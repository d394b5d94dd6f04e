package eks

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// newTemplate creates the template of a new group. If our template exists already, from an earlier attempt or
// a deleted group, newTemplate adds a version to it.
func (c *Client) newTemplate(ctx context.Context, r request) (*types.LaunchTemplateSpecification, error) {
	data, err := c.templateData(ctx, r.group)
	if err != nil {
		return nil, err
	}
	name := c.templateName(r.group.NodegroupName)
	out, err := c.EC2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: data, ClientToken: r.tokenFor(data),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: []ec2types.Tag{
			{Key: aws.String(templateTag), Value: aws.String(c.templateOwner(r.group.NodegroupName))},
		}}},
	})
	if err == nil {
		return &types.LaunchTemplateSpecification{Id: out.LaunchTemplate.LaunchTemplateId, Version: aws.String("1")}, nil
	}
	if !isCode(err, "InvalidLaunchTemplateName.AlreadyExistsException") {
		return nil, err
	}
	ours, err := c.templates(ctx, c.templateOwner(r.group.NodegroupName))
	if err != nil {
		return nil, err
	}
	for id := range ours {
		return c.newVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: data, ClientToken: r.tokenFor(data)})
	}
	return nil, fmt.Errorf("%w: launch template %s exists without the tag %s: Spillway did not create it", cloud.ErrRefused, name, templateTag)
}

// deleted reports whether a group is gone, and then deletes its template. It must not do so before, because
// EKS treats a group without its template as broken.
func (c *Client) deleted(ctx context.Context, item, id string) (cloud.Operation, error) {
	operation := cloud.Operation{ID: deletion + id, Item: item}
	_, err := c.API.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &c.Cluster, NodegroupName: groupOf(item)})
	if !notFound(err) {
		return operation, c.wrap(err, "reading the "+item)
	}
	operation.Done = true
	if err := c.deleteTemplate(ctx, id); err != nil {
		// The group is gone, as requested.
		operation.Failed, operation.Message = true, err.Error()
	}
	return operation, nil
}

func (c *Client) deleteTemplate(ctx context.Context, id string) error {
	_, err := c.EC2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
	if noTemplate(err) {
		return nil
	}
	return c.wrap(err, "deleting the launch template "+id)
}

// deleteTemplates deletes our templates of all groups of the cluster. Without the right to list templates,
// none can have been created.
func (c *Client) deleteTemplates(ctx context.Context) error {
	ours, err := c.templates(ctx, c.templateOwner("*"))
	if errors.Is(err, cloud.ErrForbidden) {
		return nil
	}
	for id := range ours {
		err = errors.Join(err, c.deleteTemplate(ctx, id))
	}
	return err
}
