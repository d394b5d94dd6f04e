package eks

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// createdByUs is the description of the versions that Spillway creates. Other versions are never deleted.
const createdByUs = "Created by Spillway"

const (
	// keptVersions is how many versions stay before the one in use, so that people can return to them.
	keptVersions = 5
	// seenVersions is how many numbers before the one in use are looked at. Each change does that, so older versions
	// were deleted before.
	seenVersions = 50
)

// prune deletes old versions of our template, after EKS has accepted to move the group from the version that was read
// to a newer one. Until that is done, nobody can move the group to an old version. It deletes nothing if another group
// uses the template. What cannot be deleted now, for example because a right is missing, is deleted with a later change.
func (t templates) prune(ctx context.Context, r request) {
	current, err := strconv.ParseInt(r.template.Version, 10, 64)
	if err != nil || current <= keptVersions || r.shared {
		return
	}
	out, err := t.ec2.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: &r.template.ID, MinVersion: number(max(1, current-seenVersions)), MaxVersion: number(current - 1),
		MaxResults: aws.Int32(seenVersions),
	})
	if err != nil {
		return
	}
	if old := oldVersions(out.LaunchTemplateVersions, current); len(old) > 0 {
		_, _ = t.ec2.DeleteLaunchTemplateVersions(ctx, &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &r.template.ID, Versions: old})
	}
}

// oldVersions returns the numbers of our versions that are older than the current one, except the last of these, and the
// default version, which EC2 does not delete.
func oldVersions(versions []ec2types.LaunchTemplateVersion, current int64) []string {
	var old []int64
	for _, version := range versions {
		at := aws.ToInt64(version.VersionNumber)
		if at < current && aws.ToString(version.VersionDescription) == createdByUs && !aws.ToBool(version.DefaultVersion) {
			old = append(old, at)
		}
	}
	slices.SortFunc(old, func(a, b int64) int { return cmp.Compare(b, a) })
	var numbers []string
	for _, at := range old[min(keptVersions, len(old)):] {
		numbers = append(numbers, *number(at))
	}
	return numbers
}

func number(n int64) *string { return aws.String(strconv.FormatInt(n, 10)) }
