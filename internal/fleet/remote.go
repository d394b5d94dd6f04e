package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/fleet/budget"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/informer"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/rights"
)

// remote is a provider during one session.
type remote struct {
	*Provider
	live       client.Reader
	discovery  discovery.DiscoveryInterface
	httpClient *http.Client
	kinds      []Kind
	demand     *informer.Demand          // Is the cache.
	user       authenticationv1.UserInfo // Once it is identified, as is Account.
}

// allKinds are those that the caches hold. Nodes are optional: without them the virtual
// node keeps its capacity.
func allKinds(kinds []Kind) []Kind {
	return append([]Kind{{Object: &corev1.Namespace{}, ClusterScoped: true}, {Object: &corev1.Node{}, ClusterScoped: true, Optional: true}}, kinds...)
}

// newRemote makes the clients of the provider. fail is called with what the watches are
// refused; end ends the session at once.
func (c *keeper) newRemote(ctx context.Context, fail, end func(error)) (*remote, error) {
	allowed := c.target.Budget.Defaulted()
	held := budget.NewLedger(allowed, end)
	var missing *rights.Rights
	missing = rights.New(c.fleet.options.Clock, func() { c.setState(ctx, func(s *State) { s.Limited = missing.String() }) })
	options := transport.Options{
		MaxListBytes: allowed.ListBytes(), MaxListMemory: allowed.Memory,
		Exceeded: end, Left: c.hold.left, Writing: c.hold.writing, Bearer: c.bearer, Wrap: c.wrap(),
	}
	again := options // For the connections that check the others.
	options.Redialed = func(ctx context.Context) error { return c.recognise(ctx, again, end) }
	httpClient, err := transport.HTTPClient(c.target.Config, options)
	if err != nil {
		return nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	var demand *informer.Demand
	cl, err := cluster.New(c.target.Config, func(o *cluster.Options) {
		o.Scheme = scheme.Scheme
		o.HTTPClient = httpClient
		o.MapperProvider = c.fleet.mapper
		o.Cache = cacheOptions(c.mark(), c.fleet.options.Kinds, held, fail)
		o.Cache.NewInformer = informer.Shared(informers(allKinds(c.fleet.options.Kinds), missing))
		o.NewCache = func(config *rest.Config, options cache.Options) (_ cache.Cache, err error) {
			demand, err = c.newCache(config, options, held, missing)
			return demand, err
		}
		o.Client.FieldOwner = "spillway"
	})
	if err != nil {
		transport.Close(httpClient)
		return nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(c.target.Config, httpClient)
	if err != nil {
		transport.Close(httpClient)
		return nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	streams, err := transport.NewStreams(c.target.Config, options)
	if err != nil {
		transport.Close(httpClient)
		return nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	limits, err := c.newLimits(httpClient, held, missing)
	if err == nil {
		err = c.fleet.addIndexes(ctx, cl)
	}
	if err != nil {
		transport.Close(httpClient)
		return nil, err
	}
	provider := &Provider{
		Cluster: cl, ClusterID: c.target.ClusterID, Rights: missing, Limits: limits, Budget: held, Streams: Streams{Streams: streams},
		Seen: ownwrites.New(cl.GetCache(), c.fleet.options.Clock), left: c.hold.left,
	}
	return &remote{Provider: provider, live: cl.GetAPIReader(), discovery: discover, httpClient: httpClient, kinds: c.fleet.options.Kinds, demand: demand}, nil
}

// wrap is Options.WrapTransport for this provider, or nil.
func (c *keeper) wrap() func(http.RoundTripper) http.RoundTripper {
	wrap := c.fleet.options.WrapTransport
	if wrap == nil {
		return nil
	}
	return func(rt http.RoundTripper) http.RoundTripper { return wrap(c.target.Name, rt) }
}

func (f *Fleet) addIndexes(ctx context.Context, cl cluster.Cluster) error {
	f.mu.Lock()
	indexes := slices.Clone(f.indexes)
	f.mu.Unlock()
	for _, i := range indexes {
		if err := cl.GetFieldIndexer().IndexField(ctx, i.object, i.field, i.extract); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", i.object, i.field, err)
		}
	}
	return nil
}

func (r *remote) close() { transport.Close(r.httpClient) }

// fillCaches starts the cluster, which runs until lifetime ends, and returns when
// everything has been read once. Asking a running cache for an informer waits for
// it, so fillCaches asks for all informers first, and waits afterwards. It goes on watching a kind
// on demand if that has objects, if we may not read it, or if it is in used: the last connection
// watched it until its end, and one of its writes may still arrive.
func (r *remote) fillCaches(ctx, lifetime context.Context, used []client.Object) error {
	for _, kind := range allKinds(r.kinds) {
		if err := r.watch(ctx, kind); err != nil {
			return fmt.Errorf("watching %T of the provider: %w", kind.Object, err)
		}
	}
	if err := r.demand.Fill(ctx); err != nil {
		return err
	}
	go func() { _ = r.Start(lifetime) }() // Fails only if started twice.
	if !r.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("reading what is watched of the provider: %w", context.Cause(ctx))
	}
	r.Rights.Settle() // Before anybody decides on what the caches show.
	return r.demand.Settle(ctx, func(kind client.Object) bool {
		resource := ResourceOf(kind)
		return r.Rights.Lacks(resource) != "" || slices.ContainsFunc(used, func(one client.Object) bool { return ResourceOf(one) == resource })
	})
}

// watch has the cache of a kind filled when the cluster starts.
func (r *remote) watch(ctx context.Context, kind Kind) error {
	found, err := r.GetCache().GetInformer(ctx, kind.Object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if shared, ok := found.(interface{ LastSyncResourceVersion() string }); ok { // True for all but caches by namespace.
		r.Budget.Follow(kind.Object, shared.LastSyncResourceVersion)
	}
	if !kind.onDemand() { // Else the handler is there already.
		_, err = found.AddEventHandler(r.Budget.Handler())
	}
	return err
}

// onDemand reports whether a kind is watched only if it has objects or somebody needs it. Pods,
// namespaces and nodes are always watched: the first two are indispensable.
func (k Kind) onDemand() bool { return k.Optional && !isNode(k.Object) }

func isNode(object client.Object) bool {
	_, is := object.(*corev1.Node)
	return is
}

// newCache makes the cache of a session.
func (c *keeper) newCache(config *rest.Config, options cache.Options, held *budget.Ledger, missing *rights.Rights) (*informer.Demand, error) {
	of, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	var kinds []client.Object
	for _, kind := range c.fleet.options.Kinds {
		if kind.onDemand() {
			kinds = append(kinds, kind.Object)
		}
	}
	return informer.OnDemand(of, informer.DemandOptions{
		Kinds: kinds, Scheme: scheme.Scheme, First: held.Handler(), Opening: c.opening(missing),
	})
}

// opening reports a kind that is needed later if it is not read within SyncTimeout. What needs
// it waits, and all else goes on; the informer asks again by itself.
func (c *keeper) opening(missing *rights.Rights) func(client.Object) (read func()) {
	return func(kind client.Object) (read func()) {
		resource := ResourceOf(kind)
		var mu sync.Mutex // The timer may fire at the very moment when the kind is read.
		var isRead bool
		timer := c.fleet.options.Clock.AfterFunc(c.fleet.options.SyncTimeout, func() {
			mu.Lock()
			defer mu.Unlock()
			if !isRead {
				missing.Unanswered(resource, true)
			}
		})
		return func() {
			timer.Stop()
			mu.Lock()
			isRead = true
			missing.Unanswered(resource, false)
			mu.Unlock()
			missing.Settle() // Before anybody decides on what the cache shows.
		}
	}
}

// cacheOptions keeps only what carries our mark, and of the provider's nodes, which
// cannot carry it, only what their capacity needs. Each entry in ByObject is a cache of its
// own, with goroutines and codecs, so only kinds that differ have one. Readers share what
// they get and must not change it: copying a pod for each look at it would be the largest
// part of the work.
func cacheOptions(mark provenance.Mark, kinds []Kind, held *budget.Ledger, fail func(error)) cache.Options {
	objects := map[client.Object]cache.ByObject{
		&corev1.Node{}: {Label: labels.Everything(), Transform: held.Counted(trimNode)},
	}
	for _, kind := range kinds {
		if len(kind.Labels) > 0 {
			objects[kind.Object] = cache.ByObject{Label: ours(mark, kind)}
		}
	}
	return cache.Options{
		DefaultLabelSelector:         mark.Selector(),
		DefaultTransform:             held.Counted(budget.WithoutContent),
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		ReaderFailOnMissingInformer:  true, // A read would start one otherwise, and wait for it.
		ByObject:                     objects,
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			// The library retries for ever and says so only in its log. What a retry
			// cannot fix ends the session, with its reason.
			var missing rights.MissingError
			if apierrors.IsForbidden(err) && !errors.As(err, &missing) || apierrors.IsUnauthorized(err) {
				fail(err)
			}
		},
	}
}

// ours matches the objects of a kind that are ours.
func ours(mark provenance.Mark, kind Kind) labels.Selector {
	requirements, _ := labels.SelectorFromSet(kind.Labels).Requirements()
	return mark.Selector().Add(requirements...)
}

// mapper knows the watched kinds, Leases, and ConfigMaps (for the limits), so that
// nothing is discovered: discovery costs requests, and blocks on a hanging provider.
func (f *Fleet) mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion})
	for _, kind := range append(allKinds(f.options.Kinds), Kind{Object: &coordinationv1.Lease{}}, Kind{Object: &corev1.ConfigMap{}}) {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme.Scheme)
		if err != nil {
			return nil, fmt.Errorf("the kind of %T: %w", kind.Object, err)
		}
		scope := meta.RESTScopeNamespace
		if kind.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(gvk, scope)
	}
	return mapper, nil
}
