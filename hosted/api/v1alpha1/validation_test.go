package v1alpha1_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

const (
	eks       = `eksConfig: {displayName: shop, region: eu-central-1}`
	aks       = `aksConfig: {resourceGroup: rg, clusterName: shop, resourceLocation: westeurope}`
	gke       = `gkeConfig: {projectID: acme, clusterName: shop, region: europe-west3}`
	wantOne   = "exactly one of eksConfig, aksConfig and gkeConfig must be set"
	wantCloud = "a HostedCluster cannot change its cloud"
	wantCreds = "spec.credentials: Invalid value: exactly one of workloadIdentity and secretRef must be set"
)

// validationCases try a spec, or a change of it. Each top-level field of spec replaces that field
// of the base object, and each one of change replaces that field of spec.
var validationCases = map[string]struct{ spec, change, want string }{
	"the least of EKS":                      {spec: eks},
	"the least of AKS":                      {spec: aks},
	"the least of GKE":                      {spec: gke},
	"a zone instead":                        {spec: `gkeConfig: {projectID: acme, clusterName: shop, zone: europe-west3-a}`},
	"no cloud":                              {spec: `paused: true`, want: wantOne},
	"two clouds":                            {spec: eks + "\n" + gke, want: wantOne},
	"another cloud":                         {spec: eks, change: "eksConfig: null\n" + aks, want: wantCloud},
	"another cloud, of the other two":       {spec: gke, change: "gkeConfig: null\n" + aks, want: wantCloud},
	"a field that cannot change is changed": {spec: eks, change: `eksConfig: {displayName: shop, region: eu-west-1}`},
	"no name":                               {spec: `eksConfig: {region: eu-central-1}`, want: "spec.eksConfig.displayName: Required value"},
	"no location":                           {spec: `aksConfig: {resourceGroup: rg, clusterName: shop}`, want: "spec.aksConfig.resourceLocation: Required value"},
	"no location in GKE":                    {spec: `gkeConfig: {projectID: acme, clusterName: shop}`, want: "exactly one of region and zone must be set"},
	"two locations in GKE":                  {spec: `gkeConfig: {projectID: acme, clusterName: shop, region: a, zone: b}`, want: "exactly one of region and zone must be set"},
	"empty lists and maps": {
		spec: `eksConfig: {displayName: shop, region: r, tags: {}, loggingTypes: [], nodeGroups: [], publicAccess: false}`,
	},
	"a list that opens EKS to all": {
		spec: `eksConfig: {displayName: shop, region: r, publicAccessSources: []}`,
		want: "eksConfig.publicAccessSources must not be empty: EKS treats that as 0.0.0.0/0",
	},
	"a tag that shall go": {spec: `eksConfig: {displayName: shop, region: r, tags: {a: null, b: ""}}`},
	"a pool listed twice": {
		spec: `eksConfig: {displayName: shop, region: r, nodeGroups: [{nodegroupName: a}, {nodegroupName: b}, {nodegroupName: a}]}`,
		want: `spec.eksConfig.nodeGroups[2]: Duplicate value`,
	},
	"a pool without a name": {spec: `gkeConfig: {projectID: a, clusterName: b, zone: c, nodePools: [{version: "1"}]}`, want: "spec.gkeConfig.nodePools[0].name: Required value"},
	"a template of one's own, and an image": {
		spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, launchTemplate: {id: lt-1}, imageId: ami-1}]}`,
		want: "with launchTemplate must not set imageId",
	},
	"an image, and a version": {
		spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, imageId: ami-1, version: "1.33"}]}`,
		want: "with imageId must not set version",
	},
	"a script as user data": {
		spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, userData: "#!/bin/sh"}]}`,
		want: "must be MIME multi-part text",
	},
	"all of a launch template": {
		spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, imageId: ami-1, userData: "#!/bin/sh", diskSize: 30, resourceTags: {a: b}}, {nodegroupName: b, userData: "Content-Type: multipart/mixed"}]}`,
	},
	"a size below zero":        {spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, desiredSize: -1}]}`, want: "desiredSize in body should be greater than or equal to 0"},
	"a size below the least":   {spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, desiredSize: 1, minSize: 2}]}`, want: "must have minSize <= desiredSize <= maxSize"},
	"a size above the largest": {spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, desiredSize: 3, maxSize: 2}]}`, want: "must have minSize <= desiredSize <= maxSize"},
	"the least above the most": {spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, minSize: 3, maxSize: 2}]}`, want: "must have minSize <= desiredSize <= maxSize"},
	"three sizes that fit":     {spec: `eksConfig: {displayName: s, region: r, nodeGroups: [{nodegroupName: a, desiredSize: 2, minSize: 2, maxSize: 2}, {nodegroupName: b, minSize: 1}]}`},
	"a version as a number":    {spec: `eksConfig: {displayName: s, region: r, kubernetesVersion: 1.33}`, want: "kubernetesVersion: Invalid value"},
	"a window at 25 o'clock":   {spec: `gkeConfig: {projectID: a, clusterName: b, zone: c, maintenanceWindow: "25:00"}`, want: "maintenanceWindow"},
	"an unknown field":         {spec: `eksConfig: {displayName: s, region: r, desiredSize: 3}`, want: `unknown field "spec.eksConfig.desiredSize"`},
	"no credentials":           {spec: eks + "\ncredentials: null", want: "spec.credentials: Required value"},
	"credentials of no kind":   {spec: eks + "\ncredentials: {}", want: wantCreds},
	"credentials of two kinds": {spec: eks + "\ncredentials: {secretRef: {name: a}, workloadIdentity: {}}", want: wantCreds},
	"the operator's identity":  {spec: eks + "\ncredentials: {workloadIdentity: {}}"},
	"not the name of a Secret": {spec: eks + "\ncredentials: {secretRef: {name: A_b}}", want: "name must be the name of a Secret"},
	"a creation":               {spec: eks + "\nlifecycle: {mode: Create, manageAll: true}\ndeletionPolicy: Delete"},
	"a creation, and then":     {spec: eks + "\nlifecycle: {mode: Create}", want: "spec.deletionPolicy: Invalid value: deletionPolicy must be set if lifecycle.mode is Create"},
	"all of what exists":       {spec: eks + "\nlifecycle: {manageAll: true}", want: "spec.lifecycle.manageAll: Invalid value: manageAll must not be set unless mode is Create"},
	"an unknown mode":          {spec: eks + "\nlifecycle: {mode: Import}", want: `spec.lifecycle.mode: Unsupported value: "Import"`},
	"all policies": {spec: eks + `
sync:
  interval: 10m
  external: Report
  conflict: PreferUpstream
  writeBack: Always
  overrides: [{path: tags, external: PreferSpec}]
  resolutions: [{path: tags, take: Spec, upstreamHash: abc}]
nodePoolPolicy: Exclusive
binding: {clusterID: eu}
deletionPolicy: Orphan`},
	"an interval that is too short":   {spec: eks + "\nsync: {interval: 10s}", want: "interval must be a duration from 1m to 24h"},
	"an interval that is none":        {spec: eks + "\nsync: {interval: often}", want: "interval must be a duration from 1m to 24h"},
	"two overrides of a path":         {spec: eks + "\nsync: {overrides: [{path: tags}, {path: tags}]}", want: "spec.sync.overrides[1]: Duplicate value"},
	"a resolution without a hash":     {spec: eks + "\nsync: {resolutions: [{path: tags, take: Spec}]}", want: "spec.sync.resolutions[0].upstreamHash: Required value"},
	"a resolution for both":           {spec: eks + "\nsync: {resolutions: [{path: tags, take: Both, upstreamHash: a}]}", want: `take: Unsupported value: "Both"`},
	"a binding that is no DNS label":  {spec: eks + "\nbinding: {clusterID: EU}", want: "clusterID must be a DNS label"},
	"a binding to another cluster ID": {spec: eks + "\nbinding: {clusterID: eu}", change: "binding: {clusterID: us}", want: "clusterID is immutable"},
}

func TestValidation(t *testing.T) {
	for name, test := range validationCases {
		t.Run(name, func(t *testing.T) {
			object := hosted(t, test.spec)
			var err error
			if test.change == "" {
				err = server.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict"))
			} else {
				err = change(t, object, test.change)
			}
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func hosted(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"credentials": map[string]any{"secretRef": map[string]any{"name": "cloud"}},
	}}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("HostedCluster"))
	object.SetGenerateName("shop-")
	set(t, object, spec)
	return object
}

func set(t *testing.T, object *unstructured.Unstructured, spec string) {
	t.Helper()
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(spec), &values); err != nil {
		t.Fatal(err)
	}
	maps.Copy(object.Object["spec"].(map[string]any), values)
}

func change(t *testing.T, object *unstructured.Unstructured, spec string) error {
	t.Helper()
	if err := server.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	set(t, object, spec)
	return server.Update(t.Context(), object, client.FieldValidation("Strict"))
}

// TestEmptyIsNotUnset checks that managed empty fields, and null for a tag to delete, survive the
// way from a Go program through the API server and back.
func TestEmptyIsNotUnset(t *testing.T) {
	want := &v1alpha1.EKSConfig{
		DisplayName: "shop", Region: "r", PublicAccess: ptr.To(false), LoggingTypes: []string{},
		Tags: map[string]*string{"go": nil, "empty": ptr.To("")}, NodeGroups: []v1alpha1.EKSNodeGroup{{NodegroupName: "a", Labels: map[string]*string{}}},
	}
	object := &v1alpha1.HostedCluster{ObjectMeta: metav1.ObjectMeta{GenerateName: "shop-"}}
	object.Spec.EKSConfig = want.DeepCopy()
	object.Spec.Credentials.WorkloadIdentity = &v1alpha1.WorkloadIdentity{}
	if err := server.Create(t.Context(), object, client.FieldValidation("Strict")); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.HostedCluster{}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(object), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Spec.EKSConfig); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if text, err := json.Marshal(got.Spec.EKSConfig); err != nil || strings.Contains(string(text), "subnets") {
		t.Errorf("%s has what is not set (%v)", text, err)
	}
}

// TestColumns compares the table that kubectl get prints.
func TestColumns(t *testing.T) {
	clients, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	err = clients.RESTClient().Get().AbsPath("/apis/hosted.spillway.io/v1alpha1/hostedclusters").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(table)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			got = append(got, c.Name)
		}
	}
	want := []string{"Name", "Cloud", "Location", "Version", "Ready", "In Sync", "Conflicts", "Updating", "Age"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}
