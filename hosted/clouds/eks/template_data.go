package eks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

// rootDevice is the root device of EKS's images.
const rootDevice = "/dev/xvda"

// tagged lists the resources that get resourceTags.
var tagged = []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume}

// inTemplate reports whether a new group needs a template, because it sets a field that only a template can
// set, or only a template can change later.
func inTemplate(g v1alpha1.EKSNodeGroup) bool {
	return g.LaunchTemplate == nil && (set(g.ImageID) || set(g.UserData) || len(g.ResourceTags) > 0 || set(g.EC2SSHKey) || aws.ToInt32(g.DiskSize) > 0 || set(g.InstanceType))
}

// data returns the content of a group's template, without empty fields.
func (t templates) data(ctx context.Context, g v1alpha1.EKSNodeGroup) (*types.RequestLaunchTemplateData, error) {
	data := &types.RequestLaunchTemplateData{}
	if set(g.ImageID) {
		data.ImageId = g.ImageID
	}
	if set(g.EC2SSHKey) {
		data.KeyName = g.EC2SSHKey
	}
	if set(g.InstanceType) {
		data.InstanceType = types.InstanceType(*g.InstanceType)
	}
	if set(g.UserData) {
		data.UserData = aws.String(base64.StdEncoding.EncodeToString([]byte(*g.UserData)))
	}
	if aws.ToInt32(g.DiskSize) > 0 {
		device, err := t.root(ctx, g.ImageID)
		if err != nil {
			return nil, err
		}
		data.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{{DeviceName: &device, Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: g.DiskSize}}}
	}
	if tags, _ := split(g.ResourceTags); len(tags) > 0 {
		var list []types.Tag
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			list = append(list, types.Tag{Key: &key, Value: aws.String(tags[key])})
		}
		for _, kind := range tagged {
			data.TagSpecifications = append(data.TagSpecifications, types.LaunchTemplateTagSpecificationRequest{ResourceType: kind, Tags: list})
		}
	}
	return data, nil
}

// tokenFor returns a token that depends on the data and the description. EC2 refuses a token that it has seen with other
// values, for example if somebody has changed a field since.
func (r request) tokenFor(data *types.RequestLaunchTemplateData) *string {
	sum := sha256.Sum256([]byte(createdByUs + string(text(data))))
	return aws.String(aws.ToString(r.token) + "-" + hex.EncodeToString(sum[:8]))
}

// versionToken returns a token for a new version of a group's template. If the group is refused, the same version is
// used by the next request with the same data, and no second one is created.
func (r request) versionToken(data *types.RequestLaunchTemplateData) *string {
	sum := sha256.Sum256([]byte(r.template.ID + "/" + r.template.Version + "/" + createdByUs + string(text(data))))
	return aws.String(hex.EncodeToString(sum[:16]))
}

// root returns the root device of an image. A size for another device would add a volume.
func (t templates) root(ctx context.Context, image *string) (string, error) {
	if !set(image) {
		return rootDevice, nil
	}
	out, err := t.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{*image}})
	if err != nil {
		return "", err
	}
	if len(out.Images) != 1 || !set(out.Images[0].RootDeviceName) {
		return "", fmt.Errorf("%w: imageId: EC2 does not report the root device of image %s, which diskSize needs", cloud.ErrRefused, *image)
	}
	return *out.Images[0].RootDeviceName, nil
}

// fill sets the fields that a template has.
func fill(group *v1alpha1.EKSNodeGroup, data types.ResponseLaunchTemplateData) {
	group.ImageID, group.EC2SSHKey, group.UserData = data.ImageId, data.KeyName, decoded(data.UserData)
	if data.InstanceType != "" {
		group.InstanceType = aws.String(string(data.InstanceType))
	}
	for _, device := range data.BlockDeviceMappings {
		if device.Ebs != nil && device.Ebs.VolumeSize != nil {
			group.DiskSize = device.Ebs.VolumeSize
		}
	}
	group.ResourceTags = map[string]*string{}
	for _, of := range data.TagSpecifications {
		for _, tag := range of.Tags {
			group.ResourceTags[aws.ToString(tag.Key)] = tag.Value
		}
	}
}

// more names what a template has besides the fields of a group. A new version would lose it.
func more(data types.ResponseLaunchTemplateData) string {
	var group v1alpha1.EKSNodeGroup
	fill(&group, data)
	data.ImageId, data.KeyName, data.UserData, data.InstanceType, data.Operator = nil, nil, nil, "", nil
	if len(data.BlockDeviceMappings) == 1 && data.BlockDeviceMappings[0].Ebs != nil {
		device := *data.BlockDeviceMappings[0].Ebs
		device.VolumeSize = nil
		if reflect.ValueOf(device).IsZero() {
			data.BlockDeviceMappings = nil
		}
	}
	if len(data.TagSpecifications) == len(tagged) && !slices.ContainsFunc(data.TagSpecifications, func(of types.LaunchTemplateTagSpecification) bool {
		return !slices.Contains(tagged, of.ResourceType) || len(of.Tags) != len(group.ResourceTags)
	}) {
		data.TagSpecifications = nil
	}
	var names []string
	all := reflect.ValueOf(data)
	for i := range all.NumField() {
		if field := all.Field(i); !field.IsZero() && (field.Kind() != reflect.Slice || field.Len() > 0) {
			names = append(names, all.Type().Field(i).Name)
		}
	}
	return strings.Join(names, ", ")
}

// texts returns the values of a template, by path.
func texts(item string, data types.ResponseLaunchTemplateData) (map[string]merge.Text, error) {
	var group v1alpha1.EKSNodeGroup
	fill(&group, data)
	tree, err := merge.Tree(group)
	if err != nil {
		return nil, err
	}
	values := map[string]merge.Text{}
	for name, value := range tree {
		keys, isMap := value.(map[string]any)
		for key, value := range keys {
			values[fmt.Sprintf("%s.%s[%q]", item, name, key)] = text(value)
		}
		if !isMap {
			values[item+"."+name] = text(value)
		}
	}
	return values, nil
}

func text(value any) merge.Text {
	content, err := json.Marshal(value)
	if err != nil {
		return merge.Null
	}
	return merge.Text(content)
}
