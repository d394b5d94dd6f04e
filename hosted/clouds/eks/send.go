package eks

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/ekstable"
	"github.com/spillway-io/spillway/hosted/merge"
)

// request is a write whose values are decoded.
type request struct {
	merge.Write
	config v1alpha1.EKSConfig
	group  v1alpha1.EKSNodeGroup
	token  *string
	arn    string
	// was is the group as it was read. template is our launch template of it; nil if it has none. shared says that
	// another group uses it, too.
	was      v1alpha1.EKSNodeGroup
	template *templateVersion
	shared   bool
	// tags are the tags that were read, and subnets those of the cluster.
	tags    map[string]*string
	subnets []string
}

// Send sends one write, and returns EKS's name of the operation, if it has one. EKS carries out requests with
// the same token only once.
func (c *Client) Send(ctx context.Context, reading cloud.Reading, write merge.Write, token string) (string, error) {
	r := request{Write: write, token: &token, arn: reading.IDs[write.Item]}
	if err := merge.Typed(write.Message, &r.config); err != nil {
		return "", c.wrap(err, write.Call)
	}
	if len(r.config.NodeGroups) == 1 {
		r.group = r.config.NodeGroups[0]
	}
	if err := r.read(reading); err != nil {
		return "", c.wrap(err, write.Call)
	}
	plane, groups, tags := c.controlPlane(), c.groups(), tags{c.API}
	send := map[string]func(context.Context, request) (*types.Update, error){
		ekstable.UpdateVersion: plane.version, ekstable.UpdateAccess: plane.access, ekstable.UpdateLogging: plane.logging, ekstable.SetAddon: plane.addon,
		ekstable.TagCluster: tags.set, ekstable.TagGroup: tags.set, ekstable.CreateGroup: groups.create, ekstable.DeleteGroup: groups.delete, ekstable.UpdateGroupVersion: groups.version,
		ekstable.UpdateGroupSize: groups.size, ekstable.UpdateGroupLabels: groups.labels, ekstable.UpdateGroupTemplate: groups.template,
	}[write.Call]
	update, err := send(ctx, r)
	if err != nil || update == nil {
		return "", c.wrap(err, write.Call)
	}
	return aws.ToString(update.Id), nil
}

// read copies from the reading what the write needs.
func (r *request) read(reading cloud.Reading) error {
	var config v1alpha1.EKSConfig
	if err := merge.Typed(reading.Config, &config); err != nil {
		return err
	}
	r.subnets = config.Subnets
	if r.Item == "" {
		r.tags = config.Tags
	}
	for _, group := range config.NodeGroups {
		if itemPath(group.NodegroupName) == r.Item {
			r.was, r.tags = group, group.Tags
		}
	}
	if ours, ok := reading.Raw[r.Item]["template"].(templateVersion); ok {
		r.template = &ours
		r.shared = slices.ContainsFunc(config.NodeGroups, func(group v1alpha1.EKSNodeGroup) bool {
			return group.LaunchTemplate != nil && aws.ToString(group.LaunchTemplate.ID) == ours.ID
		})
	}
	return nil
}

// gone ignores the error for something that is deleted already. Deletions have no token, so it may be our own
// earlier request.
func gone(err error) error {
	if notFound(err) {
		return nil
	}
	return err
}

// split separates the values that are set from those that are removed.
func split(values map[string]*string) (set map[string]string, remove []string) {
	for key, value := range values {
		if value == nil {
			remove = append(remove, key)
			continue
		}
		if set == nil {
			set = map[string]string{}
		}
		set[key] = *value
	}
	slices.Sort(remove)
	return set, remove
}
