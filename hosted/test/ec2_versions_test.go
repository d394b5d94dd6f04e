package hosted

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// TestOldVersions: a change of a group's template deletes old versions that Spillway has created. It keeps the one in
// use and newer ones, the last five before that, the default one, and those of others. It deletes nothing if another
// group uses the template. Without the right, the change is sent nevertheless.
func TestOldVersions(t *testing.T) {
	var all []int
	for version := range 16 {
		all = append(all, version+1)
	}
	tests := map[string]struct {
		given func(cluster *EKS)
		want  []int
	}{
		"one group":            {func(*EKS) {}, []int{1, 6, 10, 11, 12, 13, 14, 15, 16}},
		"the right is missing": {func(cluster *EKS) { cluster.EC2.refuse = "DeleteLaunchTemplateVersions" }, all},
		"another group uses it": {func(cluster *EKS) {
			cluster.groups["c"] = object{"nodegroupName": "c", "nodegroupArn": "arn:group/c", "status": "ACTIVE", "launchTemplate": object{"id": only(cluster), "name": "spillway/shop/b", "version": "3"}}
		}, all},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newEKS(t)
			if _, err := push(t, client, groupOfOurs, "make"); err != nil {
				t.Fatal(err)
			}
			template := only(cluster)
			test.given(cluster)
			for size := 31; size <= 44; size++ {
				if size == 35 { // Version 6 is somebody else's.
					if _, err := client.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
						LaunchTemplateId: aws.String(template), LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "c7i.large"},
					}); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := push(t, client, fmt.Sprintf("nodeGroups: [{nodegroupName: b, diskSize: %d}]", size), fmt.Sprint(size)); err != nil {
					t.Fatal(err)
				}
			}
			if left := cluster.EC2.templates[template].left(); !slices.Equal(left, test.want) {
				t.Errorf("left are %v, want %v", left, test.want)
			}
			if group := groupNamed(t, client, "b"); group["diskSize"] != float64(44) {
				t.Errorf("it is %v", group)
			}
			if cluster.groups["c"] != nil && groupNamed(t, client, "c")["launchTemplate"] == nil {
				t.Error("the template of one group counts as that of another")
			}
		})
	}
}
