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

// GatewayAPI reads the CRDs of the routes that are sent to providers. They are from the standard channel of
// the Gateway API, in its module, in the version that go.mod names.
func GatewayAPI(ctx context.Context) ([]*unstructured.Unstructured, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("finding the module of the Gateway API: %w", err)
	}
	var crds []*unstructured.Unstructured
	for _, resource := range []string{"httproutes", "grpcroutes"} {
		path := filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "standard", "gateway.networking.k8s.io_"+resource+".yaml")
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading the CRD of %s: %w", resource, err)
		}
		objects, err := Decode(path, raw)
		if err != nil {
			return nil, err
		}
		crds = append(crds, objects...)
	}
	return crds, nil
}

// WithGatewayAPI returns the CRDs of routes, and after them the objects.
func WithGatewayAPI(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	crds, err := GatewayAPI(ctx)
	return append(crds, objects...), err
}
