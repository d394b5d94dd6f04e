package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// recognise asks, by a connection of its own, whether the provider is still the cluster
// of this session, and ends the session if not. It runs whenever a connection has broken:
// the next probe would come too late, since in another cluster all our objects would be
// missing, and would be created.
func (c *keeper) recognise(ctx context.Context, options transport.Options, end func(error)) error {
	live, httpClient, err := c.apart(c.config(), options)
	if err != nil {
		return err
	}
	defer transport.Close(httpClient)
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

// apart makes clients with a connection of their own, which whoever uses them closes.
func (c *keeper) apart(config *rest.Config, options transport.Options) (client.Reader, *http.Client, error) {
	httpClient, err := transport.HTTPClient(config, options)
	if err != nil {
		return nil, nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	mapper, err := c.fleet.mapper(nil, nil)
	var live client.Client
	if err == nil {
		live, err = client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper, Scheme: scheme.Scheme})
	}
	if err != nil {
		transport.Close(httpClient)
		return nil, nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	return live, httpClient, nil
}
