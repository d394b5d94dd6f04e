package eks

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// create makes the template of a new group. If our template exists already, from an earlier attempt or
// a deleted group, create adds a version to it.
func (t templates) create(ctx context.Context, r request) (*types.LaunchTemplateSpecification, error) {
	data, err := t.data(ctx, r.group)
	if err != nil {
		return nil, err
	}
	name := t.name(r.group.NodegroupName)
	out, err := t.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: data, ClientToken: r.tokenFor(data), VersionDescription: aws.String(createdByUs),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: []ec2types.Tag{
			{Key: aws.String(templateTag), Value: aws.String(t.owner(r.group.NodegroupName))},
		}}},
	})
	if err == nil {
		return &types.LaunchTemplateSpecification{Id: out.LaunchTemplate.LaunchTemplateId, Version: aws.String("1")}, nil
	}
	if !isCode(err, "InvalidLaunchTemplateName.AlreadyExistsException") {
		return nil, err
	}
	ours, err := t.list(ctx, t.owner(r.group.NodegroupName))
	if err != nil {
		return nil, err
	}
	for id := range ours {
		return t.add(ctx, &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: &id, LaunchTemplateData: data, ClientToken: r.tokenFor(data), VersionDescription: aws.String(createdByUs)})
	}
	return nil, fmt.Errorf("%w: launch template %s exists without the tag %s: Spillway did not create it", cloud.ErrRefused, name, templateTag)
}

func (t templates) delete(ctx context.Context, id string) error {
	_, err := t.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
	if noTemplate(err) {
		return nil
	}
	return t.wrap(err, "deleting the launch template "+id)
}

// deleteAll deletes our templates of all groups of the cluster. Without the right to list templates,
// none can have been created.
func (t templates) deleteAll(ctx context.Context) error {
	ours, err := t.list(ctx, t.owner("*"))
	if errors.Is(err, cloud.ErrForbidden) {
		return nil
	}
	for id := range ours {
		err = errors.Join(err, t.delete(ctx, id))
	}
	return err
}
