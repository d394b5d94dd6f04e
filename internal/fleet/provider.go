package fleet

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/fleet/budget"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/rights"
)

// Provider is a provider during one connection: its client and cache, and what is known of it.
// All of it ends with the connection, so nobody can use the answers of another one.
type Provider struct {
	cluster.Cluster
	// ClusterID is that of the ClusterBinding.
	ClusterID string
	// Account is the account by which the provider knows us, see provenance.Account.
	Account string
	// Rights knows which kinds the provider does not let us read.
	Rights *rights.Rights
	// Limits are what the provider allows.
	Limits *Limits
	// Budget counts what the caches hold, and what was sent.
	Budget *budget.Ledger
	// Streams opens streams to the provider.
	Streams Streams
	// PodMetrics reads what our pods there use.
	PodMetrics *PodMetrics
	// Seen reads the cache, corrected by the writes that are noted with it.
	Seen *ownwrites.Reader
	// left is how long our Lease there still holds, as for transport.Options.
	left func() (time.Duration, bool)
}

// Streams opens streams to a provider with the credentials of one connection.
type Streams struct {
	*transport.Streams
	// Identity says which cluster it is, and as whom it knows us. A stream may outlive the
	// connection that it was opened with, as long as the next one has the same Identity.
	Identity string
}

// Of returns the Provider that a controller is engaged with as a cluster. It fails for a cluster
// that no Fleet has connected, such as the consumer.
func Of(engaged cluster.Cluster) (*Provider, error) {
	provider, ok := engaged.(*Provider)
	if !ok {
		return nil, fmt.Errorf("a %T is engaged, which is no connection to a provider", engaged)
	}
	return provider, nil
}

// Fenced returns transport.ErrFenced if our Lease in the provider has expired: by now another
// manager may have sent what our caches do not show.
func (p *Provider) Fenced() error {
	if left, bounded := p.left(); bounded && left <= 0 {
		return transport.ErrFenced
	}
	return nil
}

// whoami asks the provider for the name of our account. Every authenticated account may ask
// that by default. If ours may not, or the API is not served, the result is empty: policies
// that confine us then refuse everything that we create, and say why.
func (c *keeper) whoami(ctx context.Context, config *rest.Config, httpClient *http.Client) (authenticationv1.UserInfo, error) {
	nobody := authenticationv1.UserInfo{}
	client, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nobody, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nobody, nil
	}
	if err != nil {
		return nobody, err
	}
	return review.Status.UserInfo, nil
}
