package hosted_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/merge"
)

// TestSameThing has values that a cloud writes in another form than the spec, and values that only look
// similar.
func TestSameThing(t *testing.T) {
	tests := map[string]struct {
		cloud, spec, upstream string
		want                  merge.State
	}{
		"EKS: open to none is not open":     {"eksConfig", `publicAccessSources: []`, `publicAccessSources: [0.0.0.0/0, "::/0"]`, merge.Conflict},
		"EKS: a network with host bits":     {"eksConfig", `publicAccessSources: [10.1.2.3/8]`, `publicAccessSources: [10.0.0.0/8]`, merge.Agreed},
		"EKS: a role by its name":           {"eksConfig", `serviceRole: eks`, `serviceRole: "arn:aws:iam::1:role/path/eks"`, merge.Agreed},
		"EKS: a role by a part of its name": {"eksConfig", `serviceRole: eks`, `serviceRole: "arn:aws:iam::1:role/my-eks"`, merge.ImmutableDiffers},
		"EKS: subnets in another order":     {"eksConfig", `subnets: [a, b]`, `subnets: [b, a]`, merge.Agreed},
		"EKS: a group that is autoscaled": {
			"eksConfig", `nodeGroups: [{nodegroupName: a, desiredSize: 1}]`,
			`nodeGroups: [{nodegroupName: a, desiredSize: 2, tags: {k8s.io/cluster-autoscaler/enabled: "true"}}]`, merge.Floating,
		},
		"AKS: a region":                   {"aksConfig", `resourceLocation: West Europe`, `resourceLocation: westeurope`, merge.Agreed},
		"AKS: another case":               {"aksConfig", `networkPlugin: Azure`, `networkPlugin: azure`, merge.Agreed},
		"AKS: any patch":                  {"aksConfig", `kubernetesVersion: "1.33"`, `kubernetesVersion: "1.33.2"`, merge.Agreed},
		"AKS: another minor":              {"aksConfig", `kubernetesVersion: "1.3"`, `kubernetesVersion: "1.33.2"`, merge.Conflict},
		"AKS: taints in another order":    {"aksConfig", `nodePools: [{name: a, nodeTaints: ["k=v:E", "l=v:E"]}]`, `nodePools: [{name: a, nodeTaints: ["l=v:E", "k=v:E"]}]`, merge.Agreed},
		"AKS: a taint with another value": {"aksConfig", `nodePools: [{name: a, nodeTaints: ["k=v:E"]}]`, `nodePools: [{name: a, nodeTaints: ["k=w:E"]}]`, merge.Conflict},
		"AKS: a pool that scales itself":  {"aksConfig", `nodePools: [{name: a, count: 1}]`, `nodePools: [{name: a, count: 2, enableAutoScaling: true}]`, merge.Floating},
		"AKS: a pool that does not":       {"aksConfig", `nodePools: [{name: a, count: 1}]`, `nodePools: [{name: a, count: 2}]`, merge.Conflict},
		"GKE: any build":                  {"gkeConfig", `kubernetesVersion: v1.33.2`, `kubernetesVersion: 1.33.2-gke.100`, merge.Agreed},
		"GKE: networks in another order":  {"gkeConfig", `masterAuthorizedNetworks: {cidrBlocks: [{cidrBlock: a}, {cidrBlock: b}]}`, `masterAuthorizedNetworks: {cidrBlocks: [{cidrBlock: b}, {cidrBlock: a}]}`, merge.Agreed},
		"GKE: a pool that scales itself":  {"gkeConfig", `nodePools: [{name: a, initialNodeCount: 1}]`, `nodePools: [{name: a, initialNodeCount: 2, autoscaling: {enabled: true}}]`, merge.Floating},
		"GKE: a taint that is added":      {"gkeConfig", `nodePools: [{name: a, config: {taints: [{key: k, effect: NO_EXECUTE}]}}]`, `nodePools: [{name: a}]`, merge.Pushed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := merge.Input{Table: clouds[test.cloud].table, Complete: true}
			for text, tree := range map[string]*map[string]any{test.spec: &in.Spec, test.upstream: &in.Upstream} {
				if err := yaml.Unmarshal([]byte(text), tree); err != nil {
					t.Fatal(err)
				}
			}
			got := merge.Agreed
			for _, leaf := range merge.Merge(in).Leaves {
				if leaf.State != merge.Agreed {
					got = leaf.State
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestManagerKnowsNoCloud: the manager links neither hosted clusters nor a cloud's library, nor the packages
// of kubectl spillway.
func TestManagerKnowsNoCloud(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/manager")
	command.Dir = ".."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		for _, part := range []string{"spillway/hosted", "aws-sdk-go", "azure-sdk-for-go", "google.golang.org/api/", "cloud.google.com/go",
			"spillway/internal/plugin", "k8s.io/cli-runtime", "sigs.k8s.io/kustomize"} {
			if strings.Contains(pkg, part) {
				t.Errorf("the manager has %s", pkg)
			}
		}
	}
}

// TestPluginKnowsNoCloud: kubectl spillway hosted computes what the operator would do, without a library of a
// cloud, and without what sends requests.
func TestPluginKnowsNoCloud(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/kubectl-spillway")
	command.Dir = ".."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "spillway/hosted/merge") {
		t.Error("the plugin does not have the merge, so this test says nothing")
	}
	for pkg := range strings.Lines(string(out)) {
		for _, part := range []string{"aws-sdk-go", "smithy-go", "azure-sdk-for-go", "google.golang.org/api/", "cloud.google.com/go", "spillway/hosted/controller"} {
			if strings.Contains(pkg, part) {
				t.Errorf("the plugin has %s", pkg)
			}
		}
	}
}

// TestImages: the build of the images gets, and copies, all sources of the programs.
func TestImages(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		content, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	recipe, sent := read("Dockerfile"), read(".dockerignore")
	for program, source := range map[string]string{"manager": "./cmd/manager", "hosted": "./hosted/cmd/hosted"} {
		if !strings.Contains(recipe, `ENTRYPOINT ["/`+program+`"]`) {
			t.Errorf("no image runs %s", program)
		}
		command := exec.CommandContext(t.Context(), "go", "list", "-deps", source)
		command.Dir = ".."
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		for pkg := range strings.Lines(string(out)) {
			folder, ours := strings.CutPrefix(strings.TrimSpace(pkg), "github.com/spillway-io/spillway/")
			if ours && !slices.ContainsFunc(strings.Split(recipe, "\n"), func(line string) bool {
				copied, ok := strings.CutPrefix(line, "COPY ")
				copied, _, _ = strings.Cut(copied, "/ ")
				return ok && (folder == copied || strings.HasPrefix(folder, copied+"/")) && strings.Contains(sent, "\n!"+copied+"\n")
			}) {
				t.Errorf("the build of %s lacks %s", program, folder)
			}
		}
	}
}
