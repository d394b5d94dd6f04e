package fleet

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// recognise asks, by a connection of its own, whether the provider is still the
// one that this session is with, and ends the session if it is not. It is asked
// whenever a connection has broken: the next probe would come too late for what is
// read and written until then, because all of it would be missing in another
// cluster, and would be made there.
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
	uid, err := identityOf(ctx, live)
	if err == nil {
		err = c.verify(uid)
	}
	var refused errNotUsable
	if errors.As(err, &refused) {
		end(err)
	}
	return err
}
