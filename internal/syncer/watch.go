package syncer

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/informer"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/seeded"
)

// watch has a pass made over each object that changes on either side.
func (c *kindController[T]) watch(ctx context.Context) error {
	watch := func(from cache.Cache, kind client.Object, handle func(informer.Change)) error {
		return informer.Watch(ctx, from, kind, func(e informer.Change) {
			if !e.Unseen || !seeded.On(seeded.UnseenDeletion) {
				handle(e)
			}
		})
	}
	if err := watch(c.view, c.New(), c.onLocal); err != nil {
		return err
	}
	if c.Copied {
		metadata, err := c.metadata()
		if err != nil {
			return err
		}
		if err := watch(c.catalogueCache, metadata, func(e informer.Change) { c.onCatalogue(ctx, e) }); err != nil {
			return err
		}
	}
	return watch(c.provider.GetCache(), c.New(), c.onRemote)
}

// onLocal also has a pass made over what the object needs, or needed.
func (c *kindController[T]) onLocal(e informer.Change) {
	obj := e.Object()
	if obj == nil {
		return
	}
	forget(c.local, e)
	if seeded.On(seeded.RestartForgetsGoing) && e.Before == nil && !obj.GetDeletionTimestamp().IsZero() {
		return
	}
	c.enqueue(client.ObjectKeyFromObject(obj))
	c.ask(c.changedNeeds(e))
	if c.Copied && c.Needs != nil && c.moved(e) {
		if local, ok := e.After.(T); ok {
			c.ask(c.Needs(local)) // What it needs is needed elsewhere.
		}
	}
}

// moved reports whether a copied object has copies elsewhere than before.
func (c *kindController[T]) moved(e informer.Change) bool {
	key := v1alpha1.AnnotationRemote + c.clusterID
	return e.Before != nil && e.After != nil && e.Before.GetAnnotations()[key] != e.After.GetAnnotations()[key]
}

// changedNeeds are what the object needs now and did not before, or the other
// way round: whether anything needs them may have changed.
func (c *kindController[T]) changedNeeds(e informer.Change) []decide.Ref {
	if c.Needs == nil {
		return nil
	}
	before, after := c.needsOf(e.Before), c.needsOf(e.After)
	var changed []decide.Ref
	for key, ref := range before {
		if _, still := after[key]; !still {
			changed = append(changed, ref)
		}
	}
	for key, ref := range after {
		if _, already := before[key]; !already {
			changed = append(changed, ref)
		}
	}
	return changed
}

func (c *kindController[T]) needsOf(obj client.Object) map[string]decide.Ref {
	refs := map[string]decide.Ref{}
	if local, ok := obj.(T); ok && obj != nil {
		for _, ref := range c.Needs(local) {
			refs[ref.String()] = ref
		}
	}
	return refs
}

// onCatalogue passes over the objects that nothing needs: that is nearly all of
// them.
func (c *kindController[T]) onCatalogue(ctx context.Context, e informer.Change) {
	obj := e.Object()
	if obj == nil {
		return
	}
	forget(c.catalogue, e)
	key := client.ObjectKeyFromObject(obj)
	if decide.IsPinned(obj, c.clusterID) {
		c.enqueue(key)
		return
	}
	found, err := c.pair.referers(ctx, decide.Ref{Kind: c.Name, NamespacedName: key})
	if err != nil {
		log.FromContext(ctx).Error(err, "an event is lost", "kind", c.Name, "object", key)
		return // The cache is ending, and the pair with it.
	}
	if len(found) == 0 {
		return
	}
	c.enqueue(key)
	if e.Before == nil || e.After == nil {
		for name, keys := range found { // They wait for it, or can do without it.
			c.kinds[name].enqueue(keys...)
		}
	}
}

func (c *kindController[T]) onRemote(e informer.Change) {
	obj := e.Object()
	if obj == nil {
		return
	}
	forget(c.remote, e)
	key := localKey(obj)
	if c.Done != nil && e.Before != nil {
		c.memory.Unshown.Note(key)
	}
	c.enqueueWith(c.priority(e), key)
	if e.Before != nil && localKey(e.Before) != key {
		c.enqueue(localKey(e.Before))
	}
}

// priority is that of the pass that follows a change of a remote object. That it
// is there says nothing new: either it was made by a pass, or it is read at the
// beginning.
func (c *kindController[T]) priority(e informer.Change) int {
	before, known := e.Before.(T)
	after, _ := e.After.(T) // The zero value, when it is gone.
	if known && c.Urgent != nil && c.Urgent(before, after) {
		return urgent
	}
	return 0
}

// forget drops what is known of an object that the cache has dropped.
func forget(reader *ownwrites.Reader, e informer.Change) {
	switch {
	case e.After != nil || e.Before == nil:
	case e.Unseen && e.Listed != "":
		reader.Missing(e.Before, e.Listed)
	default:
		reader.Forget(e.Before)
	}
}

// enqueueNamespace implements attached.
func (c *kindController[T]) enqueueNamespace(ctx context.Context, namespace string) {
	keys, err := c.concerned(ctx, namespace)
	if err != nil {
		log.FromContext(ctx).Error(err, "a change of a namespace's place is lost", "kind", c.Name, "namespace", namespace)
		return // The cache is ending, and the pair with it.
	}
	c.enqueue(keys...)
	if c.Needs == nil {
		return
	}
	for _, key := range keys {
		local := c.New()
		if err := c.view.Get(ctx, key, local); err == nil {
			c.ask(c.Needs(local))
		}
	}
}

// inProvider are the local objects that remote ones stand for, without those that
// are known already: what went here while nothing was to be done is left there.
func (c *kindController[T]) inProvider(ctx context.Context, known []types.NamespacedName) ([]types.NamespacedName, error) {
	list := c.NewList()
	if err := c.provider.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	seen := sets.New(known...)
	var more []types.NamespacedName
	for _, item := range items {
		if obj, ok := item.(client.Object); ok && !seen.Has(localKey(obj)) {
			seen.Insert(localKey(obj))
			more = append(more, localKey(obj))
		}
	}
	return more, nil
}

// concerned are the objects of a local namespace that the view holds, and, of
// copied kinds, those that something needs and that are not sent yet: what needs
// a Secret may be in another namespace. Of all namespaces, they are also those
// that are left in the provider only.
func (c *kindController[T]) concerned(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	list := c.NewList()
	if err := c.view.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	keys, err := keysOf(list)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		orphans, err := c.inProvider(ctx, keys)
		if err != nil {
			return nil, err
		}
		keys = append(keys, orphans...)
	}
	if !c.Copied {
		return keys, nil
	}
	metadata, err := c.metadata()
	if err != nil {
		return nil, err
	}
	known := &metav1.PartialObjectMetadataList{}
	known.SetGroupVersionKind(metadata.GroupVersionKind())
	if err := c.catalogueCache.List(ctx, known, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range known.Items {
		key := client.ObjectKeyFromObject(&known.Items[i])
		if decide.IsPinned(&known.Items[i], c.clusterID) {
			continue // The view has it.
		}
		found, err := c.pair.referers(ctx, decide.Ref{Kind: c.Name, NamespacedName: key})
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
