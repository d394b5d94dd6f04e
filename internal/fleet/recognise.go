package fleet

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// recognise asks, by a connection of its own, whether the provider is still the cluster
// of this session, and ends the session if not. It runs whenever a connection has broken:
// the next probe would come too late, since in another cluster all our objects would be
// missing, and would be created.
func (c *keeper) recognise(ctx context.Context, options transport.Options, end func(error)) error {
	httpClient, err := transport.HTTPClient(c.target.Config, options)
	if err != nil {
		return fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	defer transport.Close(httpClient)
	mapper, err := c.fleet.mapper(nil, nil)
	if err != nil {
		return err
	}
	live, err := client.New(c.target.Config, client.Options{HTTPClient: httpClient, Mapper: mapper, Scheme: scheme.Scheme})
	if err != nil {
		return fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.fleet.options.ProbeTimeout)
	defer cancel()
	uid, err := identityOf(transport.WithoutAuthority(ctx), live)
	if err == nil {
		err = c.verify(uid)
	}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		// Not to be mistaken for the answer to the request that needs the connection.
		reason, message := transport.Classify(err)
		err = errNotUsable{reason, message}
	}
	var refused errNotUsable
	if errors.As(err, &refused) {
		end(err)
	}
	return err
}
