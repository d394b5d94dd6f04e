// Package watch enqueues objects that change in either cluster, and the objects that such a change affects. It
// does not enqueue an object because of this process's own write: the reconcile that wrote has decided on the
// answer.
package watch

import (
	"cmp"
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/engine/work"
	"github.com/spillway-io/spillway/internal/field"
)

// Queue takes the keys of objects to reconcile, of any kind.
type Queue interface {
	Enqueue(priority int, keys ...decide.Key)
}

// Uses knows the objects of all kinds that need others.
type Uses interface {
	// Referers lists all objects that need the given one.
	Referers(ctx context.Context, of decide.Key) ([]decide.Key, error)
}

// Watcher watches the objects of one kind in one connection.
type Watcher[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Locals    *objects.Locals[T]
	Remotes   *objects.Remotes[T]
	Uses      Uses
	Attempts  *attempts.Attempts
	Queue     Queue
	// Concerns reports whether a local namespace is, or was, mapped to a remote one.
	Concerns func(namespace string) bool
	// Alone reports whether an object is sent although nothing needs it (kind.Kind.Alone). Optional.
	Alone func(local client.Object) bool
}

// Start enqueues each object that changes in either cluster, until ctx ends.
func (w *Watcher[T]) Start(ctx context.Context) error {
	if err := w.Locals.Watch(ctx, w.onLocal, func(e informer.Change) { w.onListed(ctx, e) }); err != nil {
		return err
	}
	return w.Remotes.Watch(ctx, func(e informer.Change) { w.onRemote(ctx, e) })
}

// enqueue enqueues objects of the kind.
func (w *Watcher[T]) enqueue(priority int, names ...types.NamespacedName) {
	for _, name := range names {
		w.Queue.Enqueue(priority, decide.Key{Kind: w.Kind.Name, NamespacedName: name})
	}
}

// onLocal also enqueues what the object needs, or needed.
func (w *Watcher[T]) onLocal(e informer.Change) {
	obj := e.Object()
	if !w.concerns(obj.GetNamespace()) {
		return
	}
	if !e.Own {
		w.enqueue(work.Normal, client.ObjectKeyFromObject(obj))
	}
	before, after := w.needsOf(e.Before), w.needsOf(e.After)
	w.Queue.Enqueue(work.Normal, before.SymmetricDifference(after).UnsortedList()...)
	if w.moved(e) {
		w.Queue.Enqueue(work.Normal, after.UnsortedList()...) // The objects that it needs are now needed elsewhere.
	}
}

// concerns reports whether objects of a namespace may have to be sent. For kinds selected by their namespace,
// all bindings share a cache. It has the objects of all namespaces, and most of these are not mapped.
func (w *Watcher[T]) concerns(namespace string) bool {
	return w.Kind.Selection != kind.InMappedNamespace || w.Concerns(namespace)
}

// moved reports whether a protected object has its copies at other destinations than before.
func (w *Watcher[T]) moved(e informer.Change) bool {
	key := v1alpha1.AnnotationRemote + w.ClusterID
	return w.Kind.Selection.Protects() && e.Before != nil && e.After != nil && e.Before.GetAnnotations()[key] != e.After.GetAnnotations()[key]
}

func (w *Watcher[T]) needsOf(obj client.Object) sets.Set[decide.Key] {
	keys := sets.New[decide.Key]()
	if local, ok := obj.(T); ok && obj != nil && w.Kind.Needs != nil {
		for _, ref := range w.Kind.Needs(local) {
			keys.Insert(ref.Key)
		}
	}
	return keys
}

// onListed ignores objects that nothing needs, which are nearly all.
func (w *Watcher[T]) onListed(ctx context.Context, e informer.Change) {
	key := decide.Key{Kind: w.Kind.Name, NamespacedName: client.ObjectKeyFromObject(e.Object())}
	if decide.IsProtected(e.Object(), w.ClusterID) {
		if !e.Own {
			w.Queue.Enqueue(work.Normal, key)
		}
		return
	}
	found, err := w.Uses.Referers(ctx, key)
	if err != nil {
		log.FromContext(ctx).Error(err, "an event is lost", "kind", w.Kind.Name, "object", key.NamespacedName)
		return // The cache and the connection are ending.
	}
	if len(found) == 0 && (w.Alone == nil || e.After == nil || !w.Alone(e.After)) {
		return
	}
	w.Queue.Enqueue(work.Normal, key)
	if e.Before == nil || e.After == nil {
		w.Queue.Enqueue(work.Normal, found...) // They wait for it, or can do without it.
	}
}

// onRemote also enqueues what a deleted copy needed, if its local object may stay.
func (w *Watcher[T]) onRemote(ctx context.Context, e informer.Change) {
	key := objects.LocalKey(e.Object())
	if !e.Own {
		if w.Kind.Done != nil && e.Before != nil {
			w.Attempts.RemoteChanged(key)
		}
		w.enqueue(w.priority(e), key)
	}
	if e.Before != nil && objects.LocalKey(e.Before) != key {
		w.enqueue(work.Normal, objects.LocalKey(e.Before))
	}
	if e.After == nil && w.Kind.Accepts != nil && w.Kind.Selection.ClusterWide() {
		if local, _, err := w.Locals.Get(ctx, key); err == nil && decide.Present(local) {
			w.Queue.Enqueue(work.Normal, w.needsOf(local).UnsortedList()...)
		}
	}
}

// priority returns Urgent if users wait for the outcome of a change of a remote object. A new object is not
// urgent: Spillway has just created it, or reads it at the start.
func (w *Watcher[T]) priority(e informer.Change) int {
	before, known := e.Before.(T)
	after, _ := e.After.(T) // The zero value if the object is gone.
	if known && w.Kind.Urgent != nil && w.Kind.Urgent(before, after) {
		return work.Urgent
	}
	return work.Normal
}

// EnqueueNamespace enqueues all known objects of a local namespace, and what they need. An empty name means all
// namespaces.
func (w *Watcher[T]) EnqueueNamespace(ctx context.Context, namespace string) {
	if err := w.enqueueNamespace(ctx, namespace); err != nil {
		// The cache and the connection are ending.
		log.FromContext(ctx).Error(err, "a change of a namespace's place is lost", "kind", w.Kind.Name, "namespace", namespace)
	}
}

func (w *Watcher[T]) enqueueNamespace(ctx context.Context, namespace string) error {
	held, err := w.Locals.InView(ctx, namespace)
	if err != nil {
		return err
	}
	for _, local := range held {
		if namespace == "" && !w.concerns(local.GetNamespace()) {
			continue
		}
		w.enqueue(work.Normal, client.ObjectKeyFromObject(local))
		w.Queue.Enqueue(work.Normal, w.needsOf(local).UnsortedList()...)
	}
	// The change that shows these may enqueue nothing, and they may not have been reconciled meanwhile.
	w.enqueue(work.Normal, w.Locals.Unshown(namespace)...)
	if err := w.enqueueCopied(ctx, namespace); err != nil {
		return err
	}
	return w.enqueueUnprotected(ctx, namespace)
}

// EnqueuePeers enqueues the objects whose copies name other namespaces, after the labels or the destination of
// such a namespace have changed.
func (w *Watcher[T]) EnqueuePeers(ctx context.Context) {
	if w.Kind.NamesNamespaces == nil {
		return
	}
	held, err := w.Locals.InView(ctx, "")
	if err != nil {
		// The cache and the connection are ending.
		log.FromContext(ctx).Error(err, "a change of namespaces is lost", "kind", w.Kind.Name)
	}
	for _, local := range held {
		if w.concerns(local.GetNamespace()) && w.Kind.NamesNamespaces(local) {
			w.enqueue(work.Normal, client.ObjectKeyFromObject(local))
		}
	}
}

// Recount enqueues the objects for which a pod of the virtual node starts or stops counting (Kind.Counts).
// before is nil for a new pod, after for a deleted one. The reconcile does the counting: Recount blocks other
// handlers.
func (w *Watcher[T]) Recount(ctx context.Context, before, after *corev1.Pod) {
	pod, was, is := cmp.Or(after, before), mayCount(before), mayCount(after)
	if w.Kind.Counts == nil || !w.concerns(pod.Namespace) || was == is && (!is || maps.Equal(before.Labels, after.Labels)) {
		return
	}
	held, err := w.Locals.InView(ctx, pod.Namespace)
	if err != nil {
		// The cache and the connection are ending.
		log.FromContext(ctx).Error(err, "a change of a pod is lost", "kind", w.Kind.Name, "pod", client.ObjectKeyFromObject(pod))
	}
	for _, local := range held {
		w.enqueue(work.Normal, client.ObjectKeyFromObject(local))
	}
}

func mayCount(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp.IsZero() && field.IsReady(pod)
}

// enqueueCopied enqueues the local objects of all copies: some may have gone while the engine could not act. For
// a single namespace, only kinds selected by their namespace need this.
func (w *Watcher[T]) enqueueCopied(ctx context.Context, namespace string) error {
	if namespace != "" && w.Kind.Selection != kind.InMappedNamespace {
		return nil
	}
	left, err := w.Remotes.Locals(ctx, namespace)
	if err != nil {
		return err
	}
	w.enqueue(work.Normal, left...)
	return nil
}

// enqueueUnprotected enqueues objects that something needs and that are not protected yet. An object may be
// needed from another namespace.
func (w *Watcher[T]) enqueueUnprotected(ctx context.Context, namespace string) error {
	unheld, err := w.Locals.Unprotected(ctx, namespace)
	if err != nil {
		return err
	}
	for _, key := range unheld {
		needing, err := w.Uses.Referers(ctx, decide.Key{Kind: w.Kind.Name, NamespacedName: key})
		if err != nil {
			return err
		}
		alone := false
		if len(needing) == 0 && w.Alone != nil {
			local, _, err := w.Locals.Get(ctx, key)
			if err != nil {
				return err
			}
			alone = decide.Present(local) && w.Alone(local)
		}
		if len(needing) > 0 || alone {
			w.enqueue(work.Normal, key)
		}
	}
	return nil
}
