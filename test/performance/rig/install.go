package rig

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/manifests"
)

// install applies a directory of config, as it is shipped, but for the
// Deployment: whoever uses the rig runs the manager in a way of its own.
func install(ctx context.Context, c client.Client, checkout, directory string) error {
	shipped, err := Shipped(ctx, checkout, directory)
	if err != nil {
		return err
	}
	return manifests.Create(ctx, c, shipped)
}

// Shipped is what install applies; checkout is as in Options.
func Shipped(ctx context.Context, checkout, directory string) ([]*unstructured.Unstructured, error) {
	var shipped []*unstructured.Unstructured
	var err error
	if checkout == "" {
		shipped, err = manifests.Kustomized(ctx, directory)
	} else {
		shipped, err = manifests.KustomizedOf(ctx, checkout, directory)
	}
	return manifests.Without(shipped, "Deployment"), err
}
