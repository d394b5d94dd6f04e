package eks

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

const (
	// addon is the add-on that ebsCSIDriver installs.
	addon = "aws-ebs-csi-driver"
	// ofAddon is the prefix of our name of an update of the add-on. EKS requires the name of the add-on to describe one.
	ofAddon = "addon/"
)

var errNoAddon = fmt.Errorf("%w: eksConfig.ebsCSIDriverRole: the cluster does not have the add-on %s: set eksConfig.ebsCSIDriver to true", cloud.ErrRefused, addon)

// addon creates the add-on with its role, deletes it, or changes its role. An update without a role removes the role. It
// leaves the version and the configuration of the add-on as they are.
func (c controlPlane) addon(ctx context.Context, r request) (*types.Update, error) {
	role := optional(aws.ToString(r.config.EBSCSIDriverRole))
	_, toggled := r.Set["ebsCSIDriver"]
	switch on := aws.ToBool(r.config.EBSCSIDriver); {
	case toggled && on:
		_, err := c.api.CreateAddon(ctx, &eks.CreateAddonInput{
			ClusterName: &c.Name, AddonName: aws.String(addon), ClientRequestToken: r.token, ServiceAccountRoleArn: role,
		})
		return nil, err
	case toggled:
		_, err := c.api.DeleteAddon(ctx, &eks.DeleteAddonInput{ClusterName: &c.Name, AddonName: aws.String(addon)})
		return nil, gone(err)
	case !on:
		return nil, errNoAddon
	}
	out, err := c.api.UpdateAddon(ctx, &eks.UpdateAddonInput{
		ClusterName: &c.Name, AddonName: aws.String(addon), ClientRequestToken: r.token, ServiceAccountRoleArn: role,
	})
	if err != nil {
		return nil, err
	}
	return &types.Update{Id: aws.String(ofAddon + aws.ToString(out.Update.Id))}, nil
}

// readAddon notes whether the cluster has the add-on, its role, and what is wrong with it.
func (c controlPlane) readAddon(ctx context.Context, config *v1alpha1.EKSConfig, reading *cloud.Reading) error {
	out, err := c.api.DescribeAddon(ctx, &eks.DescribeAddonInput{ClusterName: &c.Name, AddonName: aws.String(addon)})
	if err != nil && !notFound(err) {
		return c.wrap(err, "reading the add-on "+addon)
	}
	if config.EBSCSIDriver = aws.Bool(err == nil); err != nil {
		return nil
	}
	config.EBSCSIDriverRole = out.Addon.ServiceAccountRoleArn
	switch status := out.Addon.Status; status {
	case types.AddonStatusDegraded, types.AddonStatusCreateFailed, types.AddonStatusUpdateFailed, types.AddonStatusDeleteFailed:
		reading.Troubles = append(reading.Troubles, cloud.NewTrouble("", "the add-on "+addon, string(status), addonIssues(out.Addon.Health)...))
	}
	return nil
}

func addonIssues(health *types.AddonHealth) []string {
	if health == nil {
		return nil
	}
	var issues []string
	for _, issue := range health.Issues {
		issues = append(issues, string(issue.Code)+": "+aws.ToString(issue.Message))
	}
	return issues
}
