package engine

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/plan"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// quotas keeps spec.quota of a binding. It is plan.Quota for pods.
type quotas struct {
	*connected
	book quota.Book
	kind string
	// generation is that of the binding whose spec.quota the book has.
	generation int64
}

// quotaOf returns what limits the objects of a kind, or nil: only pods request resources.
func quotaOf[T client.Object](c *connected, of *kind.Kind[T]) plan.Quota {
	if of.Selection != kind.OnVirtualNode {
		return nil
	}
	c.quotas.kind = of.Name
	return c.quotas
}

// follow begins with the pods that are on the virtual nodes and in the provider, and follows what quotas depend on. The
// caches of pods must be full, and nothing may be sent before it returns.
func (q *quotas) follow(ctx context.Context) error {
	before := q.namespaces.mapped
	q.namespaces.mapped = func(binding *v1alpha1.ClusterBinding) {
		before(binding)
		q.set(ctx, binding)
	}
	q.book.Labels = func(namespace string) (map[string]string, bool) { return q.labels(ctx, namespace) }
	q.set(ctx, q.namespaces.current().Binding())
	return errors.Join(
		informer.Watch(ctx, q.view, &corev1.Pod{}, func(e informer.Change) {
			if !q.book.InUse() {
				return // It costs nothing without spec.quota.
			}
			if after, is := e.After.(*corev1.Pod); is {
				q.enqueueAll(q.book.Note(quota.PodOf(after, false)))
			}
			if e.Before != nil && (e.After == nil || e.After.GetUID() != e.Before.GetUID()) {
				q.enqueueAll(q.book.Gone(e.Before.GetUID()))
			}
		}),
		informer.Watch(ctx, q.Cache, consumer.NamespaceMetadata(), func(e informer.Change) {
			if !e.Initially && !sameLabels(e.Before, e.After) {
				q.enqueueAll(q.book.Relabelled(e.Object().GetName()))
			}
		}),
	)
}

// set follows spec.quota. It is called for each change of the binding, also of its status.
func (q *quotas) set(ctx context.Context, binding *v1alpha1.ClusterBinding) {
	if binding.Generation == q.generation {
		return
	}
	q.generation = binding.Generation
	q.enqueueAll(q.book.Set(quota.Entries(binding), func() []quota.Pod { return q.pods(ctx) }))
}

// pods returns the pods on the virtual nodes. After a restart, one may be in the provider although it does not say so yet.
// Caches that cannot be read are stopping.
func (q *quotas) pods(ctx context.Context) []quota.Pod {
	var here, there corev1.PodList
	_ = q.view.List(ctx, &here, client.UnsafeDisableDeepCopy)
	_ = q.provider.GetCache().List(ctx, &there, client.UnsafeDisableDeepCopy)
	sent := sets.New[types.UID]()
	for i := range there.Items {
		sent.Insert(provenance.LocalOf(&there.Items[i]).UID)
	}
	return quota.PodsOf(here.Items, sent.Has)
}

// labels returns the labels of a namespace of the consumer. They are not known while the cache does not show the namespace:
// where replicas share the bindings, a pod of it may be here before. When the cache does, follow is told. No other error
// ends without the connection.
func (q *quotas) labels(ctx context.Context, namespace string) (labels map[string]string, known bool) {
	found := consumer.NamespaceMetadata()
	if err := q.Cache.Get(ctx, client.ObjectKey{Name: namespace}, found, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false
	}
	return found.Labels, true
}

// Ask implements plan.Quota.
func (q *quotas) Ask(local client.Object) *field.Problem {
	pod, is := local.(*corev1.Pod)
	if !is {
		return nil
	}
	short, others := q.book.Ask(quota.PodOf(pod, false))
	q.enqueueAll(others)
	if short == nil {
		return nil
	}
	return &field.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: short.Message(q.binding)}
}

// Forget implements plan.Quota.
func (q *quotas) Forget(local types.NamespacedName) { q.enqueueAll(q.book.Forget(local)) }

// Withdraw implements plan.Quota.
func (q *quotas) Withdraw(local client.Object) { q.enqueueAll(q.book.Withdraw(local.GetUID())) }

func (q *quotas) enqueueAll(pods []types.NamespacedName) {
	for _, pod := range pods {
		q.enqueue(decide.Key{Kind: q.kind, NamespacedName: pod})
	}
}
