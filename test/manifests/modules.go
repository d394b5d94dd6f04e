package manifests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/test/clusters"
)

// ClusterProfiles reads the CRD of ClusterProfiles from its module, in the version that go.mod names.
func ClusterProfiles(ctx context.Context) ([]*unstructured.Unstructured, error) {
	return ofModule(ctx, "sigs.k8s.io/cluster-inventory-api", filepath.Join("config", "crd", "bases", "multicluster.x-k8s.io_clusterprofiles.yaml"))
}

// ofModule reads files of a Go module that go.mod names.
func ofModule(ctx context.Context, module string, files ...string) ([]*unstructured.Unstructured, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("finding the module %s: %w", module, err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		path := filepath.Join(strings.TrimSpace(string(out)), file)
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a manifest of %s: %w", module, err)
		}
		objects, err := Decode(path, raw)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}
