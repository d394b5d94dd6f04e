package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine/act"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/engine/observe"
	"github.com/spillway-io/spillway/internal/engine/plan"
	"github.com/spillway-io/spillway/internal/engine/report"
	"github.com/spillway-io/spillway/internal/engine/waits"
	"github.com/spillway-io/spillway/internal/engine/watch"
	"github.com/spillway-io/spillway/internal/engine/work"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
)

// connected is what the controllers of all kinds share in one connection: the consumer as one ClusterBinding
// sees it, and its provider.
type connected struct {
	*Engine
	binding  string
	uid      types.UID // Of the binding.
	mark     provenance.Mark
	view     *views.View
	provider *fleet.Provider
	limits   atomic.Pointer[field.Limits] // What the provider allows. Nil until it is known.
	// The caches, corrected by the writes of this process.
	local, listed, clusterWide, remote *ownwrites.Reader
	namespaces                         *namespaces
	sizes                              *sizes
	quotas                             *quotas
	graph                              *graph
	waits                              *waits.Waits
	workers                            *work.Workers
	fenced                             *fenced
	// tokens gives pods their API tokens. It is set before the workers start.
	tokens observe.Tokens
}

// Reconcile reconciles an object of any kind.
func (c *connected) Reconcile(ctx context.Context, key decide.Key) (reconcile.Result, error) {
	result, err := c.graph.kinds[key.Kind].Reconcile(ctx, key)
	if err != nil {
		c.fenced.failed(key)
	}
	return result, err
}

// enqueue enqueues objects with the lowest priority.
func (c *connected) enqueue(keys ...decide.Key) { c.workers.Enqueue(work.Normal, keys...) }

// follow enqueues what changes, and what depends on it, until ctx ends. Nothing is reconciled before it
// returns, so no change is lost.
func (c *connected) follow(ctx context.Context) error {
	c.provider.Limits.Follow(func(limits *field.Limits) { c.limit(ctx, limits) })
	c.provider.Classes.Follow(ctx, func() { c.graph.EnqueueNamespace(ctx, "") })
	c.namespaces.mapped = func(binding *v1alpha1.ClusterBinding) {
		c.provider.Classes.Want(ctx, binding.Spec.Classes)
		c.provider.Room.Want(ctx, binding.Spec.Import.CSI)
		c.provider.Foreign.Want(ctx, binding.Spec.VirtualNode.ForeignPods.Subtracts())
		c.provider.Autoscaler.Want(ctx, binding.Spec.VirtualNode.Elastic != nil, func(namespace string) bool { return c.isOurs(ctx, namespace) })
	}
	c.namespaces.mapped(c.namespaces.current().Binding())
	c.provider.Autoscaler.Follow(ctx, func(remote types.NamespacedName) { c.declined(ctx, remote) })
	c.provider.Reopened(ctx, c.fenced.reopened)
	// Any object may need one of a kind that becomes readable or unreadable.
	c.provider.Rights.Follow(ctx, func() { c.graph.EnqueueNamespace(ctx, "") })
	c.Views.Served.Follow(ctx, func() { c.graph.EnqueueNamespace(ctx, "") })
	if err := errors.Join(c.namespaces.followOffloadings(ctx, c.Cache), c.namespaces.followLabels(ctx, c.Cache)); err != nil {
		return err
	}
	for name, kind := range c.graph.kinds {
		if err := kind.Start(ctx); err != nil {
			return fmt.Errorf("watching for the %s controller of ClusterBinding %s: %w", name, c.binding, err)
		}
	}
	return errors.Join(c.quotas.follow(ctx), c.followNamespaces(ctx), c.followPods(ctx), c.namespaces.follow(ctx, c.Cache))
}

// limit stores what the provider allows. If that has changed, it enqueues everything.
func (c *connected) limit(ctx context.Context, limits *field.Limits) {
	if before := c.limits.Swap(limits); before != nil {
		c.graph.EnqueueNamespace(ctx, "")
	}
}

// own returns a function that reports whether an address belongs to the consumer: to one of its nodes, to a
// node's spec.podCIDRs, or to a Service.
func (c *connected) own(ctx context.Context) (func(netip.Addr) bool, error) {
	var nodes corev1.NodeList
	if err := c.Cache.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var services corev1.ServiceList
	if err := c.Views.SharedCache.List(ctx, &services, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	ofNodes := address.OfNodes(nodes.Items)
	return func(ip netip.Addr) bool {
		text := ip.String()
		return ofNodes(ip) || slices.ContainsFunc(services.Items, func(s corev1.Service) bool { return slices.Contains(s.Spec.ClusterIPs, text) })
	}, nil
}

// maps reports whether any ClusterBinding maps the given class of the consumer.
func (c *connected) maps(ctx context.Context, kind v1alpha1.ClassKind, name string) bool {
	var bindings v1alpha1.ClusterBindingList
	err := c.Cache.List(ctx, &bindings, client.UnsafeDisableDeepCopy)
	return err == nil && slices.ContainsFunc(bindings.Items, func(b v1alpha1.ClusterBinding) bool {
		_, mapped := field.Classes(b.Spec.Classes).Of(kind, name)
		return mapped
	})
}

// namespaceUID returns the UID of a namespace in the provider. It returns "" if the namespace is missing or
// being deleted.
func (c *connected) namespaceUID(ctx context.Context, name string) (types.UID, error) {
	namespace := &corev1.Namespace{}
	err := c.provider.GetCache().Get(ctx, client.ObjectKey{Name: name}, namespace, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && !namespace.DeletionTimestamp.IsZero() {
		return "", nil
	}
	return namespace.UID, err
}

// followNamespaces enqueues the objects that go to a namespace when it appears in the provider: they may wait
// for it.
func (c *connected) followNamespaces(ctx context.Context) error {
	return informer.Watch(ctx, c.provider.GetCache(), &corev1.Namespace{}, func(e informer.Change) {
		if e.Before == nil && !e.Initially {
			c.graph.EnqueueNamespace(ctx, provenance.LocalOf(e.After).Namespace) // For the mount namespace, this enqueues everything.
		}
	})
}

// followPods enqueues the objects whose copies depend on the number of pods in some state, when a pod of the
// virtual node enters or leaves that state.
func (c *connected) followPods(ctx context.Context) error {
	return informer.Watch(ctx, c.view, &corev1.Pod{}, func(e informer.Change) {
		if e.Initially {
			return // Everything is enqueued at the start anyway.
		}
		before, _ := e.Before.(*corev1.Pod)
		after, _ := e.After.(*corev1.Pod)
		for _, kind := range c.graph.runners {
			kind.Recount(ctx, before, after)
		}
	})
}

// isOurs reports whether a namespace of the provider has our mark. The cache has no others.
func (c *connected) isOurs(ctx context.Context, name string) bool {
	namespace := &corev1.Namespace{}
	return c.provider.GetCache().Get(ctx, client.ObjectKey{Name: name}, namespace, client.UnsafeDisableDeepCopy) == nil && c.mark.IsOn(namespace)
}

// declined enqueues the pod for whose copy the provider's autoscaler starts no node. If the cache does not show the copy yet,
// it is enqueued when it does.
func (c *connected) declined(ctx context.Context, remote types.NamespacedName) {
	pod := &corev1.Pod{}
	if err := c.provider.GetCache().Get(ctx, remote, pod, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	local := provenance.LocalOf(pod)
	c.enqueue(decide.Key{Kind: "pod", NamespacedName: types.NamespacedName{Namespace: local.Namespace, Name: local.Name}})
}

// writer returns the client for writes to the provider. The provider may have an older definition of an
// extension: it then refuses fields that it does not know, instead of dropping them.
func (c *connected) writer(extension bool) client.Client {
	if extension {
		return client.WithFieldValidation(c.provider.GetClient(), metav1.FieldValidationStrict)
	}
	return c.provider.GetClient()
}

// alone returns a function that reports whether an object is sent although nothing needs it, or nil.
func (c *connected) alone(of func(local metav1.Object, node string) bool) func(client.Object) bool {
	if !c.Provides || of == nil {
		return nil
	}
	return func(local client.Object) bool { return of(local, c.view.Node) }
}

// volume returns a PersistentVolume with the binding's label. If the view does not watch them yet, everything is
// enqueued once it does.
func (c *connected) volume(ctx context.Context, name string) (*corev1.PersistentVolume, bool) {
	volume := &corev1.PersistentVolume{}
	known, err := informer.Need(ctx, c.view, volume, c.workers, func() { c.graph.EnqueueNamespace(ctx, "") })
	if err != nil || !known {
		return nil, false
	}
	switch err := c.local.Get(ctx, types.NamespacedName{Name: name}, volume); {
	case apierrors.IsNotFound(err):
		return nil, true
	case err != nil:
		return nil, false
	default:
		return volume, true
	}
}

// waiting returns the consumer's pods of a namespace that have no node. A cache that cannot be read is stopping.
func (c *connected) waiting(ctx context.Context, namespace string) []corev1.Pod {
	var pods corev1.PodList
	_ = c.Cache.List(ctx, &pods, client.InNamespace(namespace))
	return pods.Items
}

// reporterOf returns the reporter of a kind. If unneeded, nothing else may show the problems of an object.
func reporterOf[T client.Object](c *connected, kind *kind.Kind[T], remembered *attempts.Attempts, unneeded bool) *report.Reporter[T] {
	reporter := &report.Reporter[T]{Kind: kind, Attempts: remembered, Events: c.Events}
	if unneeded {
		reporter.Reported = c.reported.Of(c.uid, kind.Name, func() *attempts.Reported { return &attempts.Reported{} })
	}
	return reporter
}

// attach creates the controller of a kind for a connection.
func attach[T client.Object](c *connected, kind *kind.Kind[T]) error {
	gvk, err := apiutil.GVKForObject(kind.New(), c.Consumer.Scheme())
	if err != nil {
		return fmt.Errorf("the kind of a %s: %w", kind.Name, err)
	}
	apiVersion, typeName := gvk.ToAPIVersionAndKind()
	clusterID, remembered := c.mark.ClusterID, attempts.New(c.Clock)
	locals := &objects.Locals[T]{
		Kind: kind, ClusterID: clusterID, View: c.view, SharedCache: c.Views.SharedCache, ViewReader: c.local, SharedReader: c.listed,
		Metadata: metav1.TypeMeta{APIVersion: apiVersion, Kind: typeName},
	}
	remotes := &objects.Remotes[T]{
		Kind: kind, ClusterID: clusterID, Mark: c.mark, Cache: c.provider.GetCache(), CacheReader: c.remote, Live: c.provider.GetAPIReader(),
	}
	if kind.Selection.ClusterWide() {
		locals.View, locals.ViewReader = c.Views.SharedCache, c.clusterWide
	}
	alone := c.alone(kind.Alone)
	reporter := reporterOf(c, kind, remembered, kind.Selection.ClusterWide() || alone != nil)
	if kind.Ended != nil {
		remembered.Sent = c.sent.Of(c.uid, kind.Name, func() *attempts.Sent { return attempts.NewSent(c.Clock) })
	}
	resource := fleet.ResourceOf(kind.New())
	controller := &kindController[T]{
		Watcher: &watch.Watcher[T]{
			Kind: kind, ClusterID: clusterID, Locals: locals, Remotes: remotes, Uses: c.graph, Attempts: remembered, Queue: c.workers,
			Concerns: c.namespaces.concerns, Alone: alone,
		},
		reporter: reporter,
		observer: &observe.Observer[T]{
			Kind: kind, ClusterID: clusterID, Locals: locals, Remotes: remotes, Uses: c.graph, Sent: remembered.Sent, Pods: c.view, Tokens: func() observe.Tokens { return c.tokens },
			Namespace: c.namespaceUID, Mapping: c.namespaces.current, Peers: c.namespaces.peerNamespaces, Groups: c.view.Groups, Own: c.own, Maps: c.maps, Limits: c.limits.Load, Has: c.provider.Classes.Has,
			Clock: c.Clock, ClockSkew: c.provider.ClockSkew, Alone: alone, Volume: c.volume, Waiting: c.waiting, TooBig: c.sizes.tooBig, NewNode: c.sizes.newNode, NodesHave: nodesOf(c.provider),
		},
		planner: &plan.Planner[T]{
			Kind: kind, Binding: c.binding, ClusterID: clusterID, Quota: quotaOf(c, kind),
			Exceeds: c.provider.Budget.Exceeds,
			Count:   func(namespace string) int { return c.provider.Budget.Count(kind.New(), namespace) },
		},
		actor: &act.Actor[T]{
			Kind: kind, ClusterID: clusterID, Locals: locals, Remotes: remotes, Attempts: remembered, Refused: reporter.Refused,
			Consumer: c.Consumer, Provider: c.writer(kind.Extension), Live: c.Live,
			Sent: c.provider.Budget.Sent, Fenced: c.provider.Fenced, Clock: c.Clock,
		},
		whyUnreadable: func() connection.Unreadable { return c.provider.Rights.WhyUnreadable(resource) }, waits: c.waits,
		paused: func() bool {
			return c.namespaces.paused() || c.Views.Served.WhyUnreadable(resource) != connection.Unreadable{}
		},
	}
	c.graph.kinds[kind.Name], c.graph.runners[kind.Name] = controller, controller
	c.workers.Add(kind.Name, kind.Workers, retry.Backoff[decide.Key]())
	if kind.Needs != nil {
		c.graph.needing[kind.Name] = controller.observer
	}
	if controller.isNeeded() {
		c.graph.needed[kind.Name] = controller
	}
	if kind.Precedes != nil {
		c.graph.preceding[kind.Name] = controller
	}
	return nil
}
