package fleet

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/provider/autoscaler"
	"github.com/spillway-io/spillway/internal/provider/budget"
	"github.com/spillway-io/spillway/internal/provider/classes"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/foreign"
	"github.com/spillway-io/spillway/internal/provider/rights"
	"github.com/spillway-io/spillway/internal/provider/transport"
	"github.com/spillway-io/spillway/internal/scheme"
)

// session is one attempt to connect to a provider, and the use of the provider until it ends.
type session struct {
	*link
	engaged *engaged
	end     context.CancelCauseFunc

	// Set by connect:
	provider *Provider
	clients  *clients
	caches   *caches
	limits   *limitsReader
	user     authenticationv1.UserInfo // As whom the provider knows the manager. Set by identify.

	// used has the kinds on demand that were watched at the end of the last session. At the end of this
	// session, it has those that are watched then.
	used []client.Object
	// proven is set once the provider has been in use long enough to answer a probe.
	proven bool
	// asking are the keeper's requests in progress.
	asking sync.WaitGroup
}

// run connects to the provider, and returns why that ended.
func (s *session) run(ctx context.Context) error {
	whole := ctx
	ctx, s.end = context.WithCancelCause(ctx)
	defer s.end(nil)
	if err := s.connect(ctx); err != nil {
		return fmt.Errorf("making a client for provider %s: %w", s.target.ClusterID, err)
	}
	lease := &leaseManager{link: s.link, provider: s.provider, live: s.clients.live, probe: s.probe}
	defer func() {
		s.engaged.disengage(s.target.Name)
		s.end(nil)
		s.asking.Wait() // A renewal in progress would make the release a conflict.
		if whole.Err() != nil {
			lease.release(context.WithoutCancel(whole))
		}
		s.clients.close()
	}()
	err := s.use(ctx, lease)
	if cause := context.Cause(ctx); cause != nil {
		return cause // The cause says more than the errors that it led to.
	}
	return err
}

// connect creates the clients and the caches of the provider. It sends nothing.
func (s *session) connect(ctx context.Context) (err error) {
	config, allowed := s.credentials.now().Config, s.target.Budget.Defaulted()
	held := budget.NewLedger(allowed, s.end)
	var missing *rights.Rights
	missing = rights.New(s.options.Clock, func() { s.report.update(ctx, func(state *State) { state.Limited = missing.All() }) })
	options := transport.Options{
		MaxListBytes: allowed.ListBytes(), MaxListMemory: allowed.Memory,
		Exceeded: s.end, Remaining: s.fence.remaining, Writing: s.fence.writing, Bearer: s.credentials.bearer, Wrap: s.wrap(),
	}
	ofStreams := s.recognise(options, s.end, nil)                 // There is one for each stream, which needs no version.
	options.Redialed = s.recognise(options, s.end, s.noteVersion) // Without Redialed, for the connections that check the others.
	httpClient, err := transport.HTTPClient(config, options)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			transport.Close(httpClient)
		}
	}()
	s.caches = &caches{options: s.options, budget: held, rights: missing}
	of, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme.Scheme
		o.HTTPClient = httpClient
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return s.options.mapper() }
		o.Cache = s.caches.cacheOptions(s.mark(), newRefusals(s.options.Clock, s.end).add)
		o.NewCache = s.caches.newCache
		o.Client.FieldOwner = "spillway"
	})
	if err != nil {
		return err
	}
	if err := s.engaged.addIndexes(ctx, of.GetFieldIndexer()); err != nil {
		return err
	}
	options.Redialed = ofStreams
	streams, err := transport.NewStreams(config, options)
	if err != nil {
		return err
	}
	limits := &Limits{known: make(chan struct{})}
	if s.limits, err = newLimitsReader(limits, config, httpClient, s.caches, s.options.Clock); err != nil {
		return err
	}
	metrics, err := newPodMetrics(ctx, config, httpClient, s.mark(), s.report)
	if err != nil {
		return err
	}
	s.clients = &clients{config, httpClient, of.GetAPIReader()}
	s.provider = &Provider{
		Cluster: of, ClusterID: s.target.ClusterID, Rights: missing, Limits: limits, Classes: classes.New(config, httpClient, s.options.Clock), Room: classes.NewRoom(config, httpClient, s.options.Clock), Budget: held, Streams: Streams{Streams: streams},
		Foreign: foreign.New(inProtobuf(config), httpClient, s.options.Origin, allowed.Memory, s.options.Clock), Autoscaler: autoscaler.New(inProtobuf(config), httpClient), PodMetrics: metrics, CacheReader: ownwrites.New(of.GetCache(), s.options.Clock), ClockSkew: func() time.Duration { return s.report.now().ClockSkew }, Remaining: s.fence.remaining, OnReopened: s.fence.follow,
	}
	return nil
}

// use identifies the provider, waits until its identity is pinned and the manager holds its Lease, and keeps it
// engaged. It returns why the provider can no longer be used. When leaving, it returns nil once the Lease is gone.
func (s *session) use(ctx context.Context, lease *leaseManager) error {
	if err := s.identify(ctx); err != nil {
		return err
	}
	select {
	case <-s.credentials.pinned:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.verify(s.report.now().UID); err != nil {
		return err
	}
	if err := lease.acquire(ctx); err != nil || s.target.Leaving {
		return err
	}
	return newKeeper(s, lease).keep(ctx)
}

// connected reports that the provider can be used. After a failed start, it waits until the next session has
// outlived a probe. Otherwise a start that always fails would be reported as working each time.
func (s *session) connected(ctx context.Context) {
	now := s.report.now()
	if now.Phase == Connected {
		return
	}
	log.FromContext(ctx).Info("provider is connected", "version", now.Version)
	s.report.update(ctx, func(state *State) {
		state.Phase, state.Reason, state.Message, state.Limited, state.NoMetrics = Connected, "", "", s.provider.Rights.All(), ""
		state.NoForeign = s.provider.Foreign.Now().WhyUnknown()
	})
}

// startMost limits the quoted reason of a failed start.
const startMost = 512

// quoted is the start of the text of an error, for a message.
func quoted(err error) string {
	return text.Bound(err.Error(), startMost)
}

// startFailed returns the error of a connection that cannot be used as a whole.
func startFailed(err error) errNotUsable {
	return errNotUsable{v1alpha1.ReasonStartFailed, "the manager retries: " + quoted(err)}
}

// engage fills the caches of the provider, and hands it to the manager.
func (s *session) engage(ctx context.Context) error {
	syncCtx, cancel := context.WithTimeout(ctx, s.options.SyncTimeout)
	defer cancel()
	s.provider.Limits.Follow(noteLimits(ctx, s.report))
	s.provider.Classes.Follow(ctx, func() {
		s.report.update(ctx, func(state *State) { state.Classes = s.provider.Classes.All() })
	})
	s.provider.Room.Follow(ctx, func(room *connection.Room) {
		s.report.update(ctx, func(state *State) { state.Room = room })
	})
	s.provider.Foreign.Follow(ctx, func(pods *connection.Foreign) {
		s.report.update(ctx, func(state *State) { state.NoForeign = pods.WhyUnknown() })
	})
	if err := s.caches.fill(syncCtx, ctx, s.provider, s.used); err != nil {
		return err
	}
	if err := s.limits.start(syncCtx, ctx); err != nil {
		return err
	}
	// The session has just filled the caches from the provider, so the provider answers. If it had to wait for
	// the Lease, the last noted contact is old, and the controllers would think that the provider is away.
	s.report.update(ctx, func(state *State) { state.LastContact = s.options.Clock.Now() })
	if err := s.engaged.engage(ctx, s.target.Name, s.provider); err != nil {
		return fmt.Errorf("engaging provider %s: %w", s.target.ClusterID, err)
	}
	return nil
}
