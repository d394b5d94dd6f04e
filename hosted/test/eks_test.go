package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	"github.com/spillway-io/spillway/hosted/merge"
)

const (
	clusterOfEKS = `
name: shop
arn: "arn:cluster/shop"
status: ACTIVE
version: "1.32"
roleArn: "arn:aws:iam::1:role/eks"
kubernetesNetworkConfig: {ipFamily: ipv4}
resourcesVpcConfig: {endpointPublicAccess: true, endpointPrivateAccess: true, publicAccessCidrs: [10.0.0.0/8], subnetIds: [s1, s2], securityGroupIds: [g1]}
encryptionConfig: [{provider: {keyArn: key}, resources: [secrets]}]
logging: {clusterLogging: [{types: [api], enabled: true}, {types: [audit], enabled: false}]}
tags: {owner: shop, cost: "7"}`
	groupOfEKS = `
nodegroupName: a
nodegroupArn: "arn:group/a"
status: ACTIVE
version: "1.32"
amiType: AL2023_ARM_64_STANDARD
capacityType: ON_DEMAND
scalingConfig: {desiredSize: 2, minSize: 1, maxSize: 3}
instanceTypes: [m7g.large]
labels: {tier: web, zone: z}
tags: {owner: shop}
subnets: [s1]
nodeRole: "arn:aws:iam::1:role/node"
launchTemplate: {id: lt-1, name: shop, version: "3"}`
	read = `
displayName: shop
region: eu-central-1
kubernetesVersion: "1.32"
ipFamily: ipv4
secretsEncryption: true
kmsKey: key
serviceRole: "arn:aws:iam::1:role/eks"
publicAccess: true
privateAccess: true
publicAccessSources: [10.0.0.0/8]
subnets: [s1, s2]
securityGroups: [g1]
tags: {owner: shop, cost: "7"}
loggingTypes: [api]
ebsCSIDriver: false
nodeGroups:
- nodegroupName: a
  version: "1.32"
  desiredSize: 2
  minSize: 1
  maxSize: 3
  labels: {tier: web, zone: z}
  tags: {owner: shop}
  subnets: [s1]
  nodeRole: "arn:aws:iam::1:role/node"
  instanceType: m7g.large
  launchTemplate: {id: lt-1, name: shop, version: 3}
  requestSpotInstances: false
  gpu: false
  arm: true`
)

func parse(t *testing.T, text string) object {
	t.Helper()
	var out object
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// newEKS returns a cluster, and a client that uses the SDK.
func newEKS(t *testing.T) (*EKS, *eks.Client) {
	t.Helper()
	cluster := NewEKS(parse(t, clusterOfEKS), parse(t, groupOfEKS))
	server := httptest.NewServer(cluster)
	t.Cleanup(server.Close)
	return cluster, eksAt(server, "shop")
}

// eksAt returns the client of a cluster in EKS at an address.
func eksAt(server *httptest.Server, name string) *eks.Client {
	api := awseks.New(awseks.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(), RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}, nil
		}),
	})
	templates := ec2.New(ec2.Options{Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(), RetryMaxAttempts: 1, Credentials: api.Options().Credentials})
	return &eks.Client{API: api, EC2: templates, Cluster: eks.Cluster{Name: name, Region: "eu-central-1"}}
}

func mustRead(t *testing.T, client *eks.Client) cloud.Reading {
	t.Helper()
	reading, err := client.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

func TestReadEKS(t *testing.T) {
	_, client := newEKS(t)
	reading := mustRead(t, client)
	if diff := cmp.Diff(parse(t, read), reading.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !reading.Complete || reading.Busy != "" {
		t.Errorf("got %+v", reading)
	}
	client.Name = "other"
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that there is none", err)
	}
}

// TestReadHalfOfEKS: a group is deleted between the list and its description, and another cannot be read.
func TestReadHalfOfEKS(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.Before = func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/node-groups/a") {
			cluster.Forget("a")
		}
	}
	if reading := mustRead(t, client); reading.Complete {
		t.Error("half a read counts as a whole one")
	}
}

// TestSendEKS changes one field after the other. Each takes one call, which changes nothing else. The next
// read shows it.
func TestSendEKS(t *testing.T) {
	tests := map[string]struct{ spec, call string }{
		"version":              {`kubernetesVersion: "1.33"`, "POST /clusters/shop/updates"},
		"public access":        {`publicAccess: false`, "POST /clusters/shop/update-config"},
		"private access":       {`privateAccess: false`, "POST /clusters/shop/update-config"},
		"sources":              {`publicAccessSources: [192.0.2.0/24]`, "POST /clusters/shop/update-config"},
		"logging":              {`loggingTypes: [audit, scheduler]`, "POST /clusters/shop/update-config"},
		"no logging":           {`loggingTypes: []`, "POST /clusters/shop/update-config"},
		"a tag":                {`tags: {owner: us}`, "POST /tags/arn:cluster/shop"},
		"a tag that goes":      {`tags: {owner: null}`, "DELETE /tags/arn:cluster/shop"},
		"add-on":               {`ebsCSIDriver: true`, "POST /clusters/shop/addons"},
		"add-on with a role":   {`{ebsCSIDriver: true, ebsCSIDriverRole: "arn:ebs"}`, "POST /clusters/shop/addons"},
		"a group":              {`nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], desiredSize: 1, minSize: 1, maxSize: 1, labels: {a: b}}]`, "POST /clusters/shop/node-groups"},
		"version of a group":   {`nodeGroups: [{nodegroupName: a, version: "1.33"}]`, "POST /clusters/shop/node-groups/a/update-version"},
		"launch template":      {`nodeGroups: [{nodegroupName: a, launchTemplate: {version: 4}}]`, "POST /clusters/shop/node-groups/a/update-version"},
		"size of a group":      {`nodeGroups: [{nodegroupName: a, maxSize: 5}]`, "POST /clusters/shop/node-groups/a/update-config"},
		"a label of a group":   {`nodeGroups: [{nodegroupName: a, labels: {tier: db}}]`, "POST /clusters/shop/node-groups/a/update-config"},
		"a label that goes":    {`nodeGroups: [{nodegroupName: a, labels: {tier: null}}]`, "POST /clusters/shop/node-groups/a/update-config"},
		"a tag of a group":     {`nodeGroups: [{nodegroupName: a, tags: {owner: us}}]`, "POST /tags/arn:group/a"},
		"a group that is gone": {`nodeGroups: []`, "DELETE /clusters/shop/node-groups/a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newEKS(t)
			before := mustRead(t, client)
			in := merge.Input{
				Table: eks.Table, Spec: parse(t, test.spec), Upstream: before.Config, Published: before.Config, Complete: true,
				Policies: merge.Policies{Exclusive: test.spec == "nodeGroups: []"},
			}
			plan := merge.Merge(in)
			if len(plan.Writes) != 1 {
				t.Fatalf("%d requests: %+v", len(plan.Writes), plan.Writes)
			}
			// The second time is after a crash.
			for range 2 {
				if _, err := client.Send(t.Context(), before, plan.Writes[0], "token"); err != nil {
					t.Fatal(err)
				}
			}
			after := mustRead(t, client)
			in.Upstream, in.Base, in.Sent = after.Config, plan.Base, plan.Writes[0].Sent
			for _, leaf := range merge.Merge(in).Leaves {
				if leaf.State != merge.Agreed {
					t.Errorf("%s is %s: %s and %s", leaf.Path, leaf.State, leaf.Spec, leaf.Upstream)
				}
			}
			// The fields in effect are the earlier fields and the fields that were set, and no others.
			want := merge.Merge(merge.Input{Table: eks.Table, Upstream: plan.Effective, Complete: true}).Effective
			if diff := cmp.Diff(canonical(t, want), canonical(t, merge.Merge(in).Effective), ignoreNew(test.call)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if changes := cluster.Changes(); changes[0] != test.call || !strings.Contains(test.call, "tags") && len(changes) != 1 {
				t.Errorf("requests that change something: %v, want %s, once", changes, test.call)
			}
		})
	}
}

// TestPrivateAccess is the example from Rancher's documentation. privateAccess is managed and false. The
// console enables it. Before that is read, the spec changes tags.
func TestPrivateAccess(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.cluster["resourcesVpcConfig"].(object)["endpointPrivateAccess"] = false
	in := merge.Input{Table: eks.Table, Complete: true, Policies: merge.Policies{Policy: merge.Policy{External: merge.Upstream}}}
	merged := func(spec string) (cloud.Reading, merge.Plan) {
		reading := mustRead(t, client)
		in.Spec, in.Upstream = parse(t, spec), reading.Config
		plan := merge.Merge(in)
		in.Base, in.Published = plan.Base, reading.Config
		return reading, plan
	}
	if _, plan := merged("{privateAccess: false, tags: {owner: shop}}"); len(plan.Writes)+len(plan.Conflicts) > 0 {
		t.Fatalf("an import: %+v", plan)
	}
	reading := mustRead(t, client)
	console := merge.Merge(merge.Input{Table: eks.Table, Spec: parse(t, "privateAccess: true"), Upstream: reading.Config, Published: reading.Config, Complete: true})
	if _, err := client.Send(t.Context(), reading, console.Writes[0], "console"); err != nil {
		t.Fatal(err)
	}
	reading, plan := merged("{privateAccess: false, tags: {owner: us}}")
	if len(plan.Writes) != 1 || plan.Writes[0].Call != "TagResource(cluster)" {
		t.Fatalf("requests: %+v, want the tag", plan.Writes)
	}
	if _, err := client.Send(t.Context(), reading, plan.Writes[0], "ours"); err != nil {
		t.Fatal(err)
	}
	in.Sent = plan.Writes[0].Sent
	if _, plan = merged("{privateAccess: false, tags: {owner: us}}"); len(plan.Writes)+len(plan.Conflicts) > 0 || plan.Effective["privateAccess"] != true {
		t.Errorf("afterwards: %+v", plan)
	}
	after := mustRead(t, client).Config
	if after["privateAccess"] != true || cloud.Text(after, "tags.owner") != "us" {
		t.Errorf("got privateAccess %v and the tags %v, want both changes", after["privateAccess"], after["tags"])
	}
}

// TestOpenEKS: a value that EKS takes for all addresses is not sent.
func TestOpenEKS(t *testing.T) {
	cluster, client := newEKS(t)
	before := mustRead(t, client)
	in := merge.Input{Table: eks.Table, Spec: parse(t, "publicAccessSources: []"), Upstream: before.Config, Published: before.Config, Complete: true}
	_, err := client.Send(t.Context(), before, merge.Merge(in).Writes[0], "token")
	if !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), "eksConfig.publicAccessSources") {
		t.Errorf("got %v, want that it is refused, with the field", err)
	}
	if changes := cluster.Changes(); len(changes) > 0 {
		t.Errorf("changes: %v", changes)
	}
}

// TestTagsOfOthersInEKS: EKS has no guard for tags. The operator notices what somebody else sets before or
// right after its request. Tags with other keys do not matter.
func TestTagsOfOthersInEKS(t *testing.T) {
	tests := map[string]struct {
		// at is the method of the request before which it happens.
		at, key string
		want    error
		changes int
	}{
		"before":             {http.MethodGet, "owner", cloud.ErrBusy, 0},
		"another key":        {http.MethodGet, "cost", nil, 1},
		"after, another key": {http.MethodPost, "cost", nil, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newEKS(t)
			before := mustRead(t, client)
			write := merge.Merge(merge.Input{Table: eks.Table, Spec: parse(t, "tags: {owner: us}"), Upstream: before.Config, Published: before.Config, Complete: true}).Writes[0]
			cluster.Before = func(r *http.Request) {
				if r.Method == test.at {
					cluster.Tag(test.key, "console")
				}
			}
			if _, err := client.Send(t.Context(), before, write, ""); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if changes := cluster.Changes(); len(changes) != test.changes {
				t.Errorf("changes: %v, want %d", changes, test.changes)
			}
		})
	}
	cluster, client := newEKS(t)
	before := mustRead(t, client)
	write := merge.Merge(merge.Input{Table: eks.Table, Spec: parse(t, "tags: {owner: us}"), Upstream: before.Config, Published: before.Config, Complete: true}).Writes[0]
	cluster.Before = func(r *http.Request) {
		if r.Method == http.MethodGet && len(cluster.Changes()) > 0 {
			cluster.Tag("owner", "console")
		}
	}
	if _, err := client.Send(t.Context(), before, write, ""); err == nil || errors.Is(err, cloud.ErrBusy) || !strings.Contains(err.Error(), "the tag owner") {
		t.Errorf("got %v, want that the tag is another, which leaves open what was done", err)
	}
}

// TestLifeOfEKS: a cluster is created, with its groups by separate requests. It is deleted after them.
func TestLifeOfEKS(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.cluster = nil
	cluster.Forget("a")
	for field, spec := range map[string]string{
		"serviceRole": `serviceRole: eks`, "subnets": `serviceRole: "arn:r"`,
		"kmsKey":              `{serviceRole: "arn:r", subnets: [s1], secretsEncryption: true}`,
		"publicAccessSources": `{serviceRole: "arn:r", subnets: [s1], publicAccessSources: []}`,
	} {
		if err := client.Create(t.Context(), parse(t, spec), "token"); !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), "eksConfig."+field) {
			t.Errorf("got %v, want that %s is refused", err, field)
		}
	}
	want := parse(t, read)
	// The second time is after a crash, the third with another token.
	for _, token := range []string{"token", "token", "other"} {
		if err := client.Create(t.Context(), want, token); err != nil {
			t.Fatal(err)
		}
	}
	want["nodeGroups"] = []any{}
	reading := mustRead(t, client)
	if diff := cmp.Diff(want, reading.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	write := merge.Merge(merge.Input{Table: eks.Table, Spec: parse(t, read), Upstream: reading.Config, Published: reading.Config, Complete: true}).Writes[0]
	if _, err := client.Send(t.Context(), reading, write, "group"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := client.Delete(t.Context(), mustRead(t, client), "delete"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that it has gone", err)
	}
	if err := client.Delete(t.Context(), cloud.Reading{}, "delete"); err != nil {
		t.Errorf("what has gone: %v", err)
	}
	got := cluster.Changes()
	if want := []string{"POST /clusters", "POST /clusters/shop/node-groups", "DELETE /clusters/shop/node-groups/a", "DELETE /clusters/shop"}; !slices.Equal(got, want) {
		t.Errorf("requests that change something: %v, want %v", got, want)
	}
}

// canonical makes numbers comparable.
func canonical(t *testing.T, config object) object {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// ignoreNew leaves out what EKS adds to a new group.
func ignoreNew(call string) cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool {
		return call == "POST /clusters/shop/node-groups" && len(p) > 1 && strings.Contains(p.GoString(), "nodeGroups")
	}, cmp.Ignore())
}
