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
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/rights"
)

// connectedCluster is the provider during one connection, with what is known of it.
// Keeping the two together stops anybody from using another connection's answers.
type connectedCluster struct {
	cluster.Cluster
	account string
	rights  *rights.Rights
	limits  *limits
	ledger  *ledger
	streams Streams
	// podMetrics reads what our pods there use.
	podMetrics *PodMetrics
	// left is how long our Lease there still holds, as for transport.Options.
	left func() (time.Duration, bool)
	seen *ownwrites.Reader
}

// Seen reads the cache of a connection, corrected by the writes that are noted with it. A
// cluster that the fleet has not connected remembers no writes.
func Seen(cl cluster.Cluster) *ownwrites.Reader {
	if p, ok := cl.(*connectedCluster); ok {
		return p.seen
	}
	return ownwrites.New(cl.GetCache(), clock.RealClock{})
}

// Fenced returns transport.ErrFenced if our Lease in the provider of a connection has run
// out: by now another manager may have sent what our caches do not show.
func Fenced(cl cluster.Cluster) error {
	p, ok := cl.(*connectedCluster)
	if !ok || p.left == nil {
		return nil
	}
	if left, bounded := p.left(); bounded && left <= 0 {
		return transport.ErrFenced
	}
	return nil
}

// AccountOf is the account by which the provider of a connection knows us, see
// provenance.Account. It is empty for a cluster that the fleet has not connected.
func AccountOf(cl cluster.Cluster) string {
	if p, ok := cl.(*connectedCluster); ok {
		return p.account
	}
	return ""
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
