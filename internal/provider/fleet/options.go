package fleet

import (
	"cmp"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/budget"
)

// DefaultLeaseDuration is how long a Lease in a provider is valid without renewal.
const DefaultLeaseDuration = 15 * time.Second

// Options say how a Fleet keeps its connections. Zero values take defaults.
type Options struct {
	// Origin is the identity of the consumer. A provider with the same identity is refused. Required.
	Origin string
	// ProbeInterval is the time from the beginning of a failed probe of a provider to the next one, or longer if the
	// failed one takes longer. A provider that answers is probed after it has been silent for 7/3 of it. Default 3s.
	ProbeInterval time.Duration
	// ProbeTimeout is how long a probe may take. Default 4s.
	ProbeTimeout time.Duration
	// ProbeFailures is how many probes in a row must fail for a connection to count as lost.
	// Default 2.
	ProbeFailures int
	// SyncTimeout is how long filling the caches may take. Default 60s.
	SyncTimeout time.Duration
	// LeaseDuration is how long the Lease in a provider is valid without renewal. So it is how long the next
	// manager waits after a crash. Default DefaultLeaseDuration.
	LeaseDuration time.Duration
	// Identity is the holder identity of this manager in those Leases. Default: the host, and a unique number.
	Identity string
	// Shares reports whether a live manager of that identity shares the bindings with this one. Nil means that
	// none does. This manager waits until such a replica releases its Leases. It then uses no provider that
	// denies a Lease, since nothing else keeps two replicas from writing there.
	Shares func(identity string) bool
	// Restored reports whether the consumer was restored from a backup during this process. Default: never.
	Restored func() bool
	// WrapTransport, if set, wraps the transport to each provider, outermost: for counting
	// requests and injecting faults.
	WrapTransport func(binding string, rt http.RoundTripper) http.RoundTripper
	// Kinds are the kinds of marked objects that the caches hold, besides namespaces. The caches return shared
	// objects: do not change them.
	Kinds []Kind
	// Clock defaults to the real one.
	Clock clock.WithTickerAndDelayedExecution

	began  time.Time                       // When the Fleet was made.
	mapper func() (meta.RESTMapper, error) // One for all connections, 20 KB.
}

// Kind is one that the caches of the providers hold.
type Kind struct {
	Object client.Object
	// ClusterScoped is set if it has no namespace.
	ClusterScoped bool
	// Optional tells that the rest works without it: if the provider does not let us read it,
	// that is said, and the connection goes on (see package rights).
	Optional bool
	// Labels, besides the mark, are on all that is held.
	Labels map[string]string
}

func (o *Options) defaults() {
	o.ProbeInterval = cmp.Or(o.ProbeInterval, 3*time.Second)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 4*time.Second)
	o.ProbeFailures = cmp.Or(o.ProbeFailures, 2)
	o.SyncTimeout = cmp.Or(o.SyncTimeout, time.Minute)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, DefaultLeaseDuration)
	o.Identity = cmp.Or(o.Identity, NewIdentity())
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.began = o.Clock.Now()
	o.mapper = sync.OnceValues(func() (meta.RESTMapper, error) { return mapperOf(o.Kinds) })
}

// Target is a provider to connect to.
type Target struct {
	// Name is the name of the ClusterBinding.
	Name string
	// ClusterID is the clusterID of the ClusterBinding.
	ClusterID string
	// Config was made by kubeconfig.Load.
	Config *rest.Config
	// Fingerprint and Endpoint are digests of Config: of the whole, and of all but the token (see
	// kubeconfig.Fingerprint).
	Fingerprint, Endpoint string
	// PinnedUID is the identity that the provider must have. While it is empty the provider is
	// identified, and not used for anything.
	PinnedUID string
	// Holder is what the ClusterBinding remembers of the Lease in the provider. With TakeOver a
	// user allows a take-over of that Lease: it is the Lease's generation, or the identity of a
	// manager, which may then take over any generation.
	Holder   v1alpha1.HolderStatus
	TakeOver string
	// Budget limits its caches.
	Budget budget.Budget
	// Leaving is set for a binding that no longer needs its provider: nothing is engaged, and our
	// Lease there is deleted. The connection then ends in the phase Left, or after a few failed
	// tries in Disconnected, without another try.
	Leaving bool
}

// continues reports whether a connection to one target is one to the other too, perhaps with
// another token. Its pinned identity may come later.
func (t Target) continues(with Target) bool {
	return t.Endpoint == with.Endpoint && t.ClusterID == with.ClusterID && t.Budget == with.Budget && t.Leaving == with.Leaving
}
