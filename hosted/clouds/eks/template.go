package eks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// A group whose fields need a launch template gets its own template, which is ours. It has our tag, with the
// names of the cluster and the group, and a name made from the same. Anybody can copy a tag, but no two
// templates have the same name.
//
// A reading shows such a template as the fields that are in it, and never as launchTemplate. A change creates
// a new version of it, and then moves the group to that version. After a crash in between, or if the group was
// refused, EC2 recognises the token, and answers with the version that it has created.
//
// A template that lacks the tag or the name is somebody else's. It is neither read nor changed.
const (
	templateTag = "hosted.spillway.io/nodegroup"
	// deletion is the prefix of the name of an operation that deletes a group, and then its template.
	deletion = "launch-template/"
	// longestName is the longest name of a template.
	longestName = 128
)

// Errors about fields that are in a launch template, for groups without one of ours.
var (
	errNoTemplate = fmt.Errorf("%w: the group has no launch template, and EKS cannot add one to an existing group: create another group", cloud.ErrRefused)
	errOurs       = fmt.Errorf("%w: launchTemplate: the group has one from Spillway, which EKS cannot replace: set its fields instead, such as imageId", cloud.ErrRefused)
	errSpot       = fmt.Errorf("%w: instanceType: a group with requestSpotInstances has spotInstanceTypes instead", cloud.ErrRefused)
	errTheirs     = fmt.Errorf("%w: the group's launch template is not Spillway's: create a version of it, and set launchTemplate.version", cloud.ErrRefused)
)

// templateVersion is a version of a template of ours.
type templateVersion struct {
	ID, Version string
	// More names what it has besides the fields of a group; somebody else has added that.
	More string
}

// templates reads and changes the launch templates of a cluster's node groups.
type templates struct {
	Cluster
	ec2 *ec2.Client
}

func (t templates) owner(group string) string { return t.Name + "/" + group }

// name returns the name of a group's template. It has a digest instead of names that are too long
// together.
func (t templates) name(group string) string {
	name := "spillway/" + t.owner(group)
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(t.owner(group)))
		name = "spillway/" + hex.EncodeToString(sum[:])
	}
	return name
}

// read fills in the fields of our templates. It sends one request, and one for each template.
func (t templates) read(ctx context.Context, groups []v1alpha1.EKSNodeGroup, reading *cloud.Reading) error {
	var owners []string
	for _, group := range groups {
		if t.named(group) {
			owners = append(owners, t.owner(group.NodegroupName))
		}
	}
	if len(owners) == 0 {
		return nil
	}
	ours, err := t.list(ctx, owners...)
	if err != nil {
		return err
	}
	for i := range groups {
		group := &groups[i]
		of := group.LaunchTemplate
		if !t.named(*group) || !ours[aws.ToString(of.ID)] || of.Version == nil {
			continue
		}
		at := templateVersion{ID: *of.ID, Version: strconv.FormatInt(*of.Version, 10)}
		data, err := t.contents(ctx, at)
		if err != nil {
			return err
		}
		if data == nil {
			// Somebody has deleted the version, and with it the fields.
			continue
		}
		group.LaunchTemplate, at.More = nil, more(*data)
		fill(group, *data)
		reading.Raw[itemPath(group.NodegroupName)] = map[string]any{"template": at}
	}
	return nil
}

// named reports whether the template of a group has the name of our template of that group. Somebody may have given the
// template of one group to another.
func (t templates) named(group v1alpha1.EKSNodeGroup) bool {
	return group.LaunchTemplate != nil && aws.ToString(group.LaunchTemplate.Name) == t.name(group.NodegroupName)
}

// list returns the IDs of our templates of these owners. The wildcard * is allowed.
func (t templates) list(ctx context.Context, owners ...string) (map[string]bool, error) {
	in := &ec2.DescribeLaunchTemplatesInput{Filters: []ec2types.Filter{{Name: aws.String("tag:" + templateTag), Values: owners}}}
	ids := map[string]bool{}
	pages := ec2.NewDescribeLaunchTemplatesPaginator(t.ec2, in)
	for number := 1; pages.HasMorePages(); number++ {
		if err := cloud.Page(number); err != nil {
			return nil, t.wrap(err, "listing the launch templates")
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, t.wrap(err, "listing the launch templates")
		}
		for _, found := range page.LaunchTemplates {
			if t.ours(found) {
				ids[aws.ToString(found.LaunchTemplateId)] = true
			}
		}
	}
	return ids, nil
}

// ours reports whether a template with our tag has the name that belongs to it. Somebody may have copied the
// tag.
func (t templates) ours(found ec2types.LaunchTemplate) bool {
	for _, tag := range found.Tags {
		group, ok := strings.CutPrefix(aws.ToString(tag.Value), t.owner(""))
		if ok && aws.ToString(tag.Key) == templateTag && aws.ToString(found.LaunchTemplateName) == t.name(group) {
			return true
		}
	}
	return false
}

// contents returns the content of a version; nil if the version does not exist.
func (t templates) contents(ctx context.Context, at templateVersion) (*ec2types.ResponseLaunchTemplateData, error) {
	out, err := t.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &at.ID, Versions: []string{at.Version}})
	if noTemplate(err) {
		return nil, nil
	}
	if err != nil {
		return nil, t.wrap(err, "reading version "+at.Version+" of the launch template "+at.ID)
	}
	if len(out.LaunchTemplateVersions) == 0 {
		return nil, nil
	}
	return out.LaunchTemplateVersions[0].LaunchTemplateData, nil
}

func (t templates) add(ctx context.Context, in *ec2.CreateLaunchTemplateVersionInput) (*types.LaunchTemplateSpecification, error) {
	out, err := t.ec2.CreateLaunchTemplateVersion(ctx, in)
	if err != nil {
		return nil, err
	}
	made := out.LaunchTemplateVersion
	return &types.LaunchTemplateSpecification{Id: made.LaunchTemplateId, Version: aws.String(strconv.FormatInt(aws.ToInt64(made.VersionNumber), 10))}, nil
}

// values returns the values that a version of our template sets, by path.
func (t templates) values(ctx context.Context, item string, params []types.UpdateParam) (map[string]merge.Text, error) {
	at, ours := templateVersion{}, false
	for _, param := range params {
		switch param.Type {
		case types.UpdateParamTypeLaunchTemplateVersion:
			at.Version = aws.ToString(param.Value)
		case types.UpdateParamTypeLaunchTemplateName:
			ours = aws.ToString(param.Value) == t.name(aws.ToString(groupOf(item)))
		}
	}
	if !ours || at.Version == "" {
		return nil, nil
	}
	ids, err := t.list(ctx, t.owner(aws.ToString(groupOf(item))))
	if err != nil {
		return nil, err
	}
	for id := range ids {
		at.ID = id
		data, err := t.contents(ctx, at)
		if err != nil || data == nil {
			return nil, err
		}
		return texts(item, *data)
	}
	return nil, nil
}

func noTemplate(err error) bool {
	return isCode(err, "InvalidLaunchTemplateId.NotFound") || isCode(err, "InvalidLaunchTemplateId.VersionNotFound")
}

func isCode(err error, code string) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == code
}

// spotType reports whether a spot group has an instanceType, which EKS would never show.
func spotType(g v1alpha1.EKSNodeGroup) bool {
	return aws.ToBool(g.RequestSpotInstances) && set(g.InstanceType)
}

// set reports whether a text is not empty.
func set(text *string) bool { return aws.ToString(text) != "" }

func decoded(userData *string) *string {
	text, err := base64.StdEncoding.DecodeString(aws.ToString(userData))
	if err != nil || len(text) == 0 {
		return nil
	}
	return aws.String(string(text))
}
