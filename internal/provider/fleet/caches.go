package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/budget"
	"github.com/spillway-io/spillway/internal/provider/rights"
	"github.com/spillway-io/spillway/internal/scheme"
)

// caches has the caches of a provider during one session.
type caches struct {
	options *Options
	budget  *budget.Ledger
	rights  *rights.Rights
	demand  *informer.Demand // Set by newCache.
}

// allKinds returns the kinds that the caches hold. Nodes are optional: without them, the virtual node keeps its
// capacity.
func allKinds(kinds []Kind) []Kind {
	return append([]Kind{{Object: &corev1.Namespace{}, ClusterScoped: true}, {Object: &corev1.Node{}, ClusterScoped: true, Optional: true}}, kinds...)
}

// onDemand reports whether a kind is watched only if it has objects or somebody needs it. Pods, namespaces and
// nodes are always watched: the first two are indispensable.
func (k Kind) onDemand() bool { return k.Optional && !isNode(k.Object) }

func isNode(object client.Object) bool {
	_, is := object.(*corev1.Node)
	return is
}

// markSelector matches the objects of a kind that carry the mark.
func markSelector(mark provenance.Mark, kind Kind) labels.Selector {
	requirements, _ := labels.SelectorFromSet(kind.Labels).Requirements()
	return mark.Selector().Add(requirements...)
}

// cacheOptions keeps only objects with Spillway's mark. The provider's nodes cannot carry it, so of nodes it
// keeps only what their capacity needs. Each entry in ByObject is a cache of its own, with goroutines and
// codecs, so only kinds that differ have one. Readers share objects and must not change them: copying a pod for
// each read would be the largest part of the work. fail is called with an error that no retry fixes.
func (c *caches) cacheOptions(mark provenance.Mark, fail func(error)) cache.Options {
	objects := map[client.Object]cache.ByObject{
		&corev1.Node{}: {Label: labels.Everything(), Transform: c.budget.Counted(trimNode)},
	}
	for _, kind := range c.options.Kinds {
		if len(kind.Labels) > 0 {
			objects[kind.Object] = cache.ByObject{Label: markSelector(mark, kind)}
		}
	}
	return cache.Options{
		NewInformer:                  informers(allKinds(c.options.Kinds), c.rights),
		DefaultLabelSelector:         mark.Selector(),
		DefaultTransform:             c.budget.Counted(budget.WithoutContent),
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		ReaderFailOnMissingInformer:  true, // Otherwise a read would start an informer, and wait for it.
		ByObject:                     objects,
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			// The library retries for ever and says so only in its log. An error that no retry fixes ends the
			// session, with its reason.
			var missing rights.MissingError
			if apierrors.IsForbidden(err) && !errors.As(err, &missing) || apierrors.IsUnauthorized(err) {
				fail(err)
			}
		},
	}
}

// newCache creates the cache, and notes its demand.
func (c *caches) newCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	of, err := cache.New(config, options)
	if err != nil {
		return nil, err
	}
	var kinds []client.Object
	for _, kind := range c.options.Kinds {
		if kind.onDemand() {
			kinds = append(kinds, kind.Object)
		}
	}
	c.demand, err = informer.OnDemand(of, informer.DemandOptions{Kinds: kinds, Scheme: scheme.Scheme, First: c.budget.Handler(), Opening: c.opening})
	return c.demand, err
}

// opening reports a kind that is needed later if it is not read within SyncTimeout. Objects that need it wait,
// and everything else continues. The informer retries by itself.
func (c *caches) opening(kind client.Object) (read func()) {
	resource := ResourceOf(kind)
	var mu sync.Mutex // The timer may fire just when the kind is read.
	var isRead bool
	timer := c.options.Clock.AfterFunc(c.options.SyncTimeout, func() {
		mu.Lock()
		defer mu.Unlock()
		if !isRead {
			c.rights.Unanswered(resource, true)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		isRead = true
		c.rights.Unanswered(resource, false)
		mu.Unlock()
		c.rights.Settle() // Before anything is decided from the cache.
	}
}

// fill starts the cluster, which runs until lifetime ends. It returns when everything has been read once.
// Asking a running cache for an informer waits for it, so fill first asks for all informers, and then waits. It
// keeps watching a kind on demand if the kind has objects, may not be read, or is in used. The kinds in used
// were watched until the last connection ended, and one of its writes may still arrive.
func (c *caches) fill(ctx, lifetime context.Context, of cluster.Cluster, used []client.Object) error {
	for _, kind := range allKinds(c.options.Kinds) {
		if err := c.watch(ctx, kind); err != nil {
			return fmt.Errorf("watching %T of the provider: %w", kind.Object, err)
		}
	}
	if err := c.demand.Fill(ctx); err != nil {
		return err
	}
	go func() { _ = of.Start(lifetime) }() // It fails only if started twice.
	if !c.demand.WaitForCacheSync(ctx) {
		return fmt.Errorf("reading what is watched of the provider: %w", context.Cause(ctx))
	}
	c.rights.Settle() // Before anything is decided from the caches.
	if err := c.demand.Settle(ctx, func(kind client.Object) bool {
		resource := ResourceOf(kind)
		return c.rights.WhyUnreadable(resource).Reason == v1alpha1.ReasonRightsMissing ||
			slices.ContainsFunc(used, func(one client.Object) bool { return ResourceOf(one) == resource })
	}); err != nil {
		return err
	}
	c.forget()
	return nil
}

// notServed reports whether the provider does not serve a kind. No pending write of such an object can arrive.
func (c *caches) notServed(kind client.Object) bool {
	return c.rights.WhyUnreadable(ResourceOf(kind)).Reason == v1alpha1.ReasonKindNotServed
}

// forget forgets that the provider does not serve kinds that nobody needs so far: the manager no longer asks
// about them.
func (c *caches) forget() {
	watched := c.demand.Watched()
	for _, kind := range c.options.Kinds {
		resource := ResourceOf(kind.Object)
		if kind.onDemand() && !slices.ContainsFunc(watched, func(one client.Object) bool { return ResourceOf(one) == resource }) {
			c.rights.Note(resource, "list", nil)
		}
	}
	c.rights.Settle()
}

// watch makes the cluster fill the cache of a kind when it starts.
func (c *caches) watch(ctx context.Context, kind Kind) error {
	found, err := c.demand.GetInformer(ctx, kind.Object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if shared, ok := found.(interface{ LastSyncResourceVersion() string }); ok { // True except for caches by namespace.
		c.budget.Follow(kind.Object, shared.LastSyncResourceVersion)
	}
	if !kind.onDemand() { // Otherwise the handler is already registered.
		_, err = found.AddEventHandler(c.budget.Handler())
	}
	return err
}

// ResourceOf returns the resource of a kind without its API group, as rights name it.
func ResourceOf(object client.Object) string {
	gvk, err := apiutil.GVKForObject(object, scheme.Scheme)
	if err != nil {
		return ""
	}
	return resourceOf(gvk)
}

func resourceOf(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.Resource
}

// informers creates the informers of a session. The provider may refuse reads of optional kinds.
func informers(kinds []Kind, missing *rights.Rights) informer.NewFunc {
	optional := map[string]bool{}
	for _, kind := range kinds {
		optional[ResourceOf(kind.Object)] = kind.Optional
	}
	return func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		gvk, err := apiutil.GVKForObject(object, scheme.Scheme)
		if resource := resourceOf(gvk); err == nil && optional[resource] {
			from = missing.Watched(from, resource, func() runtime.Object { return emptyList(gvk) })
		}
		return informer.New(from, object, resync, indexers)
	}
}

func emptyList(gvk schema.GroupVersionKind) runtime.Object {
	gvk.Kind += "List"
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil // Each watched kind has a list type.
	}
	return list
}
