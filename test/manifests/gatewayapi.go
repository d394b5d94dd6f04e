package manifests

import (
	"context"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// GatewayAPI reads the CRDs of the routes that are sent to providers. They are from the standard channel of
// the Gateway API, in its module, in the version that go.mod names.
func GatewayAPI(ctx context.Context) ([]*unstructured.Unstructured, error) {
	folder := filepath.Join("config", "crd", "standard")
	return ofModule(ctx, "sigs.k8s.io/gateway-api", filepath.Join(folder, "gateway.networking.k8s.io_httproutes.yaml"), filepath.Join(folder, "gateway.networking.k8s.io_grpcroutes.yaml"))
}

// WithGatewayAPI returns the CRDs of routes, and after them the objects.
func WithGatewayAPI(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	crds, err := GatewayAPI(ctx)
	return append(crds, objects...), err
}
