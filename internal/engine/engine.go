// Package engine sends the consumer's objects to the providers, and reports their status in the consumer.
//
// # How it works
//
// The Engine gets each connected provider. For each, it starts a queue (package work), and one controller per
// Kind. The controllers reconcile what the queue holds, and end with the connection. One reconcile has these
// steps:
//
//   - observe reads a snapshot of both clusters from caches;
//   - plan decides without any I/O (package decide), and leaves out actions that may not run yet;
//   - act sends the requests;
//   - the reconcile starts over, until there is nothing left to do, and reports.
//
// Package watch enqueues. A reconcile sees its own writes at once (package objects), so none waits for a cache.
// The caches hold no content of ConfigMaps and Secrets: the engine reads it just before it sends it.
//
// The engine does what is the same for all kinds. It checks the owner and UID of an object, handles names that
// are taken and requests that are refused, and deletes what should not be in the provider. Each Kind has a
// Syncer, which decides the rest. Most kinds get theirs from decide.NewCopies and a pure translation.
//
// Some objects are sent only because others need them, such as a pod's ConfigMaps. They have a controller of
// their own, which reports the outcome to the objects that need them (package waits). So only one place writes
// an object.
//
// # What it trades away
//
// Each provider has a queue, which costs some goroutines. In return, a provider that hangs delays no other, and
// everything that belongs to one provider ends together.
package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/engine/observe"
	"github.com/spillway-io/spillway/internal/engine/waits"
	"github.com/spillway-io/spillway/internal/engine/work"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// Engine starts the controllers of each connection.
type Engine struct {
	// Kinds are the kinds that are sent. Shown are those with objects in the providers only.
	Kinds []Registration
	Shown []FromProvider
	Views *views.Views
	// Consumer writes. Live reads without a cache. Cache has the ClusterBindings, the NamespaceMaps,
	// and the pods without a node.
	Consumer client.Client
	Live     client.Reader
	Cache    cache.Cache
	// Origin is the identity of the consumer.
	Origin string
	// ManagerNamespace is the manager's own namespace. It is never sent.
	ManagerNamespace string
	// Provides makes the provider create the volumes of claims whose StorageClass is mapped. The program sets it.
	// Without it, no such volume comes to exist, and those that exist are protected all the same.
	Provides bool
	Events   events.EventRecorder
	Clock    clock.WithTicker

	reported attempts.PerBinding[*attempts.Reported]
	sent     attempts.PerBinding[*attempts.Sent]
}

var (
	_ mcmanager.Runnable             = &Engine{}
	_ manager.LeaderElectionRunnable = &Engine{}
)

// NeedLeaderElection returns true: two managers would do everything twice.
func (*Engine) NeedLeaderElection() bool { return true }

// Start only waits: Engage starts the controllers.
func (e *Engine) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage starts the controllers of a provider, which end with ctx. It does not block. If a controller cannot be
// started, the connection ends.
func (e *Engine) Engage(ctx context.Context, name multicluster.ClusterName, engaged cluster.Cluster) error {
	if name == "" {
		return nil // The consumer itself.
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("syncer"))
	provider, err := fleet.Of(engaged)
	if err != nil {
		return err
	}
	connection.Go(ctx, "nothing can be synced with this provider", func(ctx context.Context) error { return e.run(ctx, string(name), provider) })
	return nil
}

func (e *Engine) run(ctx context.Context, name string, provider *fleet.Provider) error {
	binding := &v1alpha1.ClusterBinding{}
	if err := e.Consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", name, err)
	}
	if err := e.Views.Open(ctx, name, binding.Spec.ClusterID, binding.VirtualNodeName()); err != nil {
		return err
	}
	view := e.Views.Get(name)
	if view == nil || !view.WaitForCacheSync(ctx) || !e.Views.SharedCache.WaitForCacheSync(ctx) {
		return fmt.Errorf("filling the view of ClusterBinding %s: %w", name, context.Cause(ctx))
	}
	e.Views.Served.Settle() // Before anything is decided from the SharedCache.
	if err := e.forget(ctx); err != nil {
		return err
	}
	c := e.connect(binding, view, provider)
	if err := c.namespaces.load(ctx, e.Consumer, e.localNamespaces(ctx)); err != nil {
		return err
	}
	for _, kind := range e.Kinds {
		if err := kind.attach(c); err != nil {
			return err
		}
	}
	for _, kind := range e.Shown {
		shown, err := kind.Attach(ctx, Connection{
			Binding: binding, Mark: c.mark, View: view, Provider: provider, Remote: c.remote, ClusterWide: e.Views.SharedCache, IsCopy: c.namespaces.isCopy,
			Destinations: func(namespace string) []decide.Destination { return c.namespaces.current().Destinations(namespace) },
			API:          func() field.ConsumerAPI { return mapping.API(c.namespaces.current()) }, Paused: c.namespaces.paused, AllEvents: c.namespaces.allEvents, Enqueue: c.enqueue,
		})
		if err != nil {
			return err
		}
		c.graph.kinds[kind.Name()] = shown
		if tokens, gives := shown.(observe.Tokens); gives {
			c.tokens = tokens
		}
		c.workers.Add(kind.Name(), kind.Workers(), kind.Backoff())
	}
	return c.workers.Run(ctx, c.follow)
}

// forget drops what outlives connections, for bindings that no longer exist.
func (e *Engine) forget(ctx context.Context) error {
	var bindings v1alpha1.ClusterBindingList
	if err := e.Cache.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing ClusterBindings: %w", err)
	}
	exist := sets.New[types.UID]()
	for i := range bindings.Items {
		exist.Insert(bindings.Items[i].UID)
	}
	e.reported.Retain(exist)
	e.sent.Retain(exist)
	return nil
}

func (e *Engine) connect(binding *v1alpha1.ClusterBinding, view *views.View, provider *fleet.Provider) *connected {
	mark := provenance.Mark{Origin: e.Origin, ClusterID: binding.Spec.ClusterID, Account: provider.Account}
	c := &connected{
		Engine: e, binding: binding.Name, uid: binding.UID, mark: mark, view: view, provider: provider,
		local:       ownwrites.New(view, e.Clock).WithTransform(heldOf(e.Kinds)),
		listed:      ownwrites.New(e.Views.SharedCache, e.Clock),
		clusterWide: ownwrites.New(e.Views.SharedCache, e.Clock).WithTransform(heldOf(e.Kinds)),
		remote:      ownwrites.New(provider.GetCache(), e.Clock).WithTransform(field.WithoutContent),
		namespaces:  &namespaces{binding: binding.Name, mark: mark},
		sizes:       &sizes{provider: provider, clock: e.Clock},
	}
	c.sizes.elastic = func() *v1alpha1.Elastic { return c.namespaces.current().Binding().Spec.VirtualNode.Elastic }
	c.quotas = &quotas{connected: c}
	c.workers = work.New(c)
	c.graph = &graph{kinds: map[string]Runner{}, runners: map[string]runner{}, needing: map[string]needing{}, needed: map[string]needed{}, preceding: map[string]preceding{}, resolve: c.namespaces.resolve}
	c.waits = waits.New(c.enqueue, c.graph.dependants)
	c.fenced = &fenced{closed: provider.Fenced, enqueue: c.enqueue}
	c.namespaces.enqueue, c.namespaces.enqueuePeers = c.graph.EnqueueNamespace, c.graph.EnqueuePeers
	return c
}

// localNamespaces returns what the mapping depends on, besides the binding and its map. It works until ctx ends.
func (e *Engine) localNamespaces(ctx context.Context) mapping.LocalNamespaces {
	offloading := func(namespace string) (*v1alpha1.NamespaceOffloading, error) {
		nso := &v1alpha1.NamespaceOffloading{}
		return nso, e.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}, nso, client.UnsafeDisableDeepCopy)
	}
	selects := func(binding *v1alpha1.ClusterBinding, namespace string) bool {
		nso, err := offloading(namespace)
		if err != nil {
			return !apierrors.IsNotFound(err) // Unknown: then nothing is decided.
		}
		if !namespaceoffloading.Selects(nso, binding) {
			return false
		}
		bindings, err := consumer.Bindings(ctx, e.Cache)
		return err != nil || namespaceoffloading.TakenBy(nso, binding, bindings) == ""
	}
	local := func(namespace string) (*metav1.PartialObjectMetadata, bool) {
		ns := consumer.NamespaceMetadata()
		err := e.Cache.Get(ctx, client.ObjectKey{Name: namespace}, ns, client.UnsafeDisableDeepCopy)
		return ns, err == nil
	}
	return mapping.LocalNamespaces{
		ManagerNamespace: e.ManagerNamespace, Selects: selects,
		Offloading: func(namespace string) *v1alpha1.NamespaceOffloading {
			if nso, err := offloading(namespace); err == nil {
				return nso
			}
			return nil
		},
		IsTerminating: func(namespace string) bool {
			ns, exists := local(namespace)
			return exists && !ns.DeletionTimestamp.IsZero()
		},
		Labels: func(namespace string) (map[string]string, bool) {
			ns, exists := local(namespace)
			return ns.Labels, exists
		},
	}
}
