package rig

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/manifests"
)

const shippedToProviders = "config/provider"

// install applies a directory of config, as it is shipped, but for the
// Deployment: whoever uses the rig runs the manager in a way of its own.
func install(ctx context.Context, c client.Client, directory string) error {
	shipped, err := manifests.Kustomized(ctx, directory)
	if err != nil {
		return err
	}
	if shipped, err = manifests.WithGatewayAPI(ctx, shipped); err != nil {
		return err
	}
	if directory == shippedToProviders {
		shipped = manifests.ForSamples(shipped)
	}
	return manifests.Create(ctx, c, manifests.Without(shipped, "Deployment"))
}
