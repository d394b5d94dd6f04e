package hosted

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	"github.com/spillway-io/spillway/hosted/merge"
)

const mime = "MIME-Version: 1.0\\nContent-Type: multipart/mixed; boundary=b\\n\\n--b--"

// groupOfOurs needs a launch template for its fields.
const groupOfOurs = `nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], version: "1.31", instanceType: m7i.large, diskSize: 30, userData: "` + mime + `", resourceTags: {team: a, cost: "7"}}]`

// writesFor returns the requests that a spec needs now.
func writesFor(t *testing.T, client *eks.Client, spec string) (cloud.Reading, []merge.Write) {
	t.Helper()
	reading := mustRead(t, client)
	return reading, merge.Merge(merge.Input{
		Table: eks.Table, Spec: parse(t, spec), Upstream: reading.Config, Published: reading.Config, Complete: reading.Complete,
		Policies: merge.Policies{Exclusive: strings.HasSuffix(spec, "# and no other")},
	}).Writes
}

// push sends the only request of a spec.
func push(t *testing.T, client *eks.Client, spec, token string) (string, error) {
	t.Helper()
	reading, writes := writesFor(t, client, spec)
	if len(writes) != 1 {
		t.Fatalf("%d requests for %s: %+v", len(writes), spec, writes)
	}
	return client.Send(t.Context(), reading, writes[0], token)
}

func groupNamed(t *testing.T, client *eks.Client, name string) object {
	t.Helper()
	for _, group := range mustRead(t, client).Config["nodeGroups"].([]any) {
		if group.(object)["nodegroupName"] == name {
			return group.(object)
		}
	}
	t.Fatalf("there is no group %s", name)
	return nil
}

// TestTemplates: a group gets a template with the operator's tag. Each change is a new version of it, which
// keeps everything else. The template is deleted after its group.
func TestTemplates(t *testing.T) {
	cluster, client := newEKS(t)
	// The second time is after a crash.
	for range 2 {
		reading, writes := writesFor(t, client, groupOfOurs)
		if len(writes) == 0 {
			break
		}
		if _, err := client.Send(t.Context(), reading, writes[0], "make"); err != nil {
			t.Fatal(err)
		}
	}
	group := groupNamed(t, client, "b")
	if group["launchTemplate"] != nil || group["diskSize"] != float64(30) || cloud.Text(group, "resourceTags.team") != "a" || !strings.HasPrefix(cloud.Text(group, "userData"), "MIME-Version: 1.0\nContent") {
		t.Errorf("it is %v", group)
	}
	changes := map[string]string{
		"instanceType: m7i.xlarge": "instanceType", "diskSize: 50": "diskSize", "resourceTags: {team: b}": "resourceTags.team", "resourceTags: {cost: null}": "resourceTags.cost", `userData: ""`: "userData",
	}
	versions := 1
	for change, path := range changes {
		before := canonical(t, groupNamed(t, client, "b"))
		if _, err := push(t, client, `nodeGroups: [{nodegroupName: b, `+change+`}]`, change); err != nil {
			t.Fatal(err)
		}
		versions++
		after := canonical(t, groupNamed(t, client, "b"))
		if cloud.Get(before, path) == cloud.Get(after, path) {
			t.Errorf("%s: it is %v", change, after)
		}
		for _, group := range []object{before, after} {
			delete(group, strings.Split(path, ".")[0])
		}
		if text(t, before) != text(t, after) {
			t.Errorf("%s: from %s to %s", change, text(t, before), text(t, after))
		}
	}
	if made := cluster.EC2.templates; len(made) != 1 || !slices.Equal(cluster.EC2.Templates(), []string{"spillway/shop/b"}) || len(cluster.EC2.Changes()) != versions {
		t.Errorf("templates %v, changes %v", made, cluster.EC2.Changes())
	}
	cluster.Slow()
	id, err := push(t, client, "nodeGroups: [{nodegroupName: a}] # and no other", "delete")
	if err != nil {
		t.Fatal(err)
	}
	for _, done := range []bool{false, true, true} {
		operation, err := client.Operation(t.Context(), `nodeGroups["b"]`, id)
		if err != nil || operation.Done != done || operation.Failed || (len(cluster.EC2.Templates()) == 0) != done {
			t.Errorf("%+v, %v, templates %v, want done: %v", operation, err, cluster.EC2.Templates(), done)
		}
		cluster.Finish("")
	}
}

func text(t *testing.T, value any) string {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestTemplateAfterACrash: the operator crashes between the version of the template and the update of the
// group. Neither is created twice.
func TestTemplateAfterACrash(t *testing.T) {
	cluster, client := newEKS(t)
	for i, spec := range []string{groupOfOurs, `nodeGroups: [{nodegroupName: b, diskSize: 50}]`} {
		reading, writes := writesFor(t, client, spec)
		cluster.Busy(true)
		if _, err := client.Send(t.Context(), reading, writes[0], spec); !errors.Is(err, cloud.ErrBusy) {
			t.Fatalf("got %v, want that EKS does not take it", err)
		}
		cluster.Busy(false)
		if _, err := client.Send(t.Context(), reading, writes[0], spec); err != nil {
			t.Fatal(err)
		}
		if changes := cluster.EC2.Changes(); len(changes) != i+1 {
			t.Errorf("changes: %v", changes)
		}
	}
	reading, writes := writesFor(t, client, `nodeGroups: [{nodegroupName: b, diskSize: 60}]`)
	cluster.Busy(true)
	for _, token := range []string{"one", "another"} {
		if _, err := client.Send(t.Context(), reading, writes[0], token); !errors.Is(err, cloud.ErrBusy) {
			t.Fatalf("got %v, want that EKS does not take it", err)
		}
	}
	cluster.Busy(false)
	if changes := cluster.EC2.Changes(); len(changes) != 3 {
		t.Errorf("each try makes a version: %v", changes)
	}
	if group := groupNamed(t, client, "b"); group["diskSize"] != float64(50) || group["version"] != "1.31" {
		t.Errorf("it is %v", group)
	}
}

// TestTemplatesOfOthers: the operator does not change what somebody else has created, or has added to its
// templates.
func TestTemplatesOfOthers(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.groups["plain"] = parse(t, `{nodegroupName: plain, nodegroupArn: "arn:group/plain", status: ACTIVE, version: "1.32", diskSize: 20}`)
	if _, err := push(t, client, groupOfOurs, "make"); err != nil {
		t.Fatal(err)
	}
	refused := func(spec, want string) {
		t.Helper()
		before := len(cluster.Changes()) + len(cluster.EC2.Changes())
		if _, err := push(t, client, spec, spec); !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if after := len(cluster.Changes()) + len(cluster.EC2.Changes()); after != before {
			t.Errorf("%s: something was changed", spec)
		}
	}
	refused(`nodeGroups: [{nodegroupName: a, imageId: ami-1}]`, "launch template is not Spillway's")
	refused(`nodeGroups: [{nodegroupName: plain, diskSize: 30}]`, "the group has no launch template")
	refused(`nodeGroups: [{nodegroupName: b, launchTemplate: {version: 4}}]`, "one from Spillway")
	refused(`nodeGroups: [{nodegroupName: d, nodeRole: "arn:r", subnets: [s1], requestSpotInstances: true, instanceType: m7i.large}]`, "spotInstanceTypes instead")
	cluster.EC2.templates["theirs"] = &launchTemplate{id: "theirs", name: "spillway/shop/c", tags: object{}, versions: []object{{}}}
	refused(`nodeGroups: [{nodegroupName: c, nodeRole: "arn:r", subnets: [s1], imageId: ami-1}]`, "Spillway did not create it")
	for _, ours := range cluster.EC2.templates {
		ours.versions[0]["EbsOptimized"] = "true"
	}
	refused(`nodeGroups: [{nodegroupName: b, diskSize: 50}]`, "EbsOptimized")
}

// TestCopiedTag: a foreign template with a copy of the operator's tag is not taken for the group's template.
// It is neither changed, nor deleted with the cluster.
func TestCopiedTag(t *testing.T) {
	cluster, client := newEKS(t)
	if _, err := push(t, client, groupOfOurs, "make"); err != nil {
		t.Fatal(err)
	}
	tags := maps.Clone(cluster.EC2.templates[only(cluster)].tags)
	// EC2 lists it first.
	cluster.EC2.templates["a-copy"] = &launchTemplate{id: "a-copy", name: "base", tags: tags, versions: []object{{"InstanceType": "theirs"}}}
	if _, err := push(t, client, `nodeGroups: [{nodegroupName: b, diskSize: 50}]`, "change"); err != nil {
		t.Fatal(err)
	}
	if group := groupNamed(t, client, "b"); group["diskSize"] != float64(50) || len(cluster.EC2.templates["a-copy"].versions) != 1 {
		t.Errorf("the group is %v, the copy %v", group, cluster.EC2.templates["a-copy"])
	}
	for range 2 {
		if err := client.Delete(t.Context(), mustRead(t, client), "delete"); err != nil {
			t.Fatal(err)
		}
	}
	if left := cluster.EC2.Templates(); !slices.Equal(left, []string{"base"}) {
		t.Errorf("left are %v", left)
	}
}

// TestImages: a custom image has its own version and its own root device.
func TestImages(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.EC2.roots["ami-1"], cluster.EC2.roots["ami-2"] = "/dev/sda1", "/dev/sda1"
	spec := `nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], imageId: ami-%, diskSize: 30}]`
	for _, image := range []string{"1", "2"} {
		if _, err := push(t, client, strings.ReplaceAll(spec, "%", image), image); err != nil {
			t.Fatal(err)
		}
	}
	group := groupNamed(t, client, "b")
	if group["imageId"] != "ami-2" || group["version"] != nil || group["arm"] != nil || !strings.Contains(text(t, cluster.EC2.templates[only(cluster)].versions), "/dev/sda1") {
		t.Errorf("it is %v, of %v", group, cluster.EC2.templates)
	}
	if _, err := push(t, client, strings.ReplaceAll(spec, "%", "3"), "3"); !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), "InvalidAMIID.NotFound") {
		t.Errorf("got %v, want that there is no such image", err)
	}
}

func only(cluster *EKS) string {
	for id := range cluster.EC2.templates {
		return id
	}
	return ""
}

// TestTemplatesInOperations: what somebody else has set with a template's version can be reported. A deleted
// cluster leaves no template.
func TestTemplatesInOperations(t *testing.T) {
	cluster, client := newEKS(t)
	if _, err := push(t, client, groupOfOurs, "make"); err != nil {
		t.Fatal(err)
	}
	id := only(cluster)
	if _, err := client.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: "c7i.large"},
	}); err != nil {
		t.Fatal(err)
	}
	out, err := client.API.UpdateNodegroupVersion(t.Context(), &awseks.UpdateNodegroupVersionInput{
		ClusterName: aws.String("shop"), NodegroupName: aws.String("b"), LaunchTemplate: &ekstypes.LaunchTemplateSpecification{Id: &id, Version: aws.String("2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	operation, err := client.Operation(t.Context(), `nodeGroups["b"]`, *out.Update.Id)
	if err != nil || operation.Values[`nodeGroups["b"].instanceType`] != `"c7i.large"` {
		t.Errorf("got %+v, %v", operation, err)
	}
	for range 2 {
		if err := client.Delete(t.Context(), mustRead(t, client), "delete"); err != nil {
			t.Fatal(err)
		}
	}
	if left := cluster.EC2.Templates(); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

// TestRecordedEC2 compares everything that the client sends with the recordings in the SDK's module. It also
// checks that the SDK reads each value of the emulator's answers.
func TestRecordedEC2(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/ec2").Output()
	if err != nil {
		t.Fatal(err)
	}
	cluster, client := newEKS(t)
	cluster.EC2.roots["ami-1"] = "/dev/sda1"
	if _, err := push(t, client, `nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], imageId: ami-1, ec2SshKey: k, instanceType: i, diskSize: 30, userData: u, resourceTags: {t: v}}]`, "make"); err != nil {
		t.Fatal(err)
	}
	for size := 43; size <= 50; size++ {
		if _, err := push(t, client, fmt.Sprintf("nodeGroups: [{nodegroupName: b, diskSize: %d}]", size), fmt.Sprint(size)); err != nil {
			t.Fatal(err)
		}
	}
	versions, err := client.EC2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String(only(cluster)), Versions: []string{"9"}})
	if err != nil {
		t.Fatal(err)
	}
	read := text(t, versions.LaunchTemplateVersions)
	for _, value := range []string{`"ImageId":"ami-1"`, `"KeyName":"k"`, `"InstanceType":"i"`, `"VolumeSize":50`, `"DeviceName":"/dev/sda1"`, `"UserData":"dQ=="`, `"Key":"t","Value":"v"`, `"ResourceType":"volume"`, `"VersionNumber":9`, `"VersionDescription":"Created by Spillway"`} {
		if !strings.Contains(read, value) {
			t.Errorf("the SDK has not read %s: %s", value, read)
		}
	}
	for range 2 {
		if err := client.Delete(t.Context(), mustRead(t, client), "delete"); err != nil {
			t.Fatal(err)
		}
	}
	number := regexp.MustCompile(`\.\d+`)
	seen := map[string]bool{}
	for _, form := range cluster.EC2.forms {
		action := form.Get("Action")
		seen[action] = true
		recording, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "request_snapshot", action+".request.snap"))
		if err != nil {
			t.Fatal(err)
		}
		known := number.ReplaceAllString(string(recording), ".1")
		for name := range form {
			if !strings.Contains(known, number.ReplaceAllString(name, ".1")+"=") {
				t.Errorf("%s: %s was not recorded", action, name)
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("the client makes %v", seen)
	}
}
