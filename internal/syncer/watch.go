package syncer

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/latest"
	"github.com/spillway-io/spillway/internal/seeded"
)

// change is one event of an informer: what there was, and what there is. Either may be nil.
type change struct {
	before, after client.Object
	// listed is the version of the list that lacked the object, if no watch has
	// seen how it went.
	listed string
}

// object is what the change is about.
func (c change) object() client.Object {
	if c.after != nil {
		return c.after
	}
	return c.before
}

// watch calls handle with what there is, and with each change, until ctx ends.
// An informer that goes on after that keeps no handler.
func watch(ctx context.Context, from cache.Cache, kind client.Object, handle func(change)) error {
	informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %T: %w", kind, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { handle(change{after: objectOf(obj)}) },
		UpdateFunc: func(before, after any) { handle(change{before: objectOf(before), after: objectOf(after)}) },
		DeleteFunc: func(obj any) { handle(change{before: objectOf(obj), listed: listed(informer, obj)}) },
	})
	if err != nil {
		return fmt.Errorf("watching %T: %w", kind, err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) }) // It fails for one that has stopped.
	return nil
}

// listed is the version of the list that has deleted an object, or "" if a watch
// has. The informer's store has that version by then.
func listed(informer cache.Informer, event any) string {
	stored, ok := informer.(interface{ GetStore() toolscache.Store })
	if _, unseen := event.(toolscache.DeletedFinalStateUnknown); !unseen || !ok {
		return ""
	}
	return stored.GetStore().LastStoreSyncResourceVersion()
}

func objectOf(event any) client.Object {
	if last, ok := event.(toolscache.DeletedFinalStateUnknown); ok && !seeded.On(seeded.UnseenDeletion) {
		event = last.Obj
	}
	obj, ok := event.(client.Object)
	if !ok {
		return nil
	}
	return obj
}

// watch has a pass made over each object that changes on either side.
func (c *kindController[T]) watch(ctx context.Context) error {
	if err := watch(ctx, c.view, c.New(), c.onLocal); err != nil {
		return err
	}
	if c.Copied {
		metadata, err := c.metadata()
		if err != nil {
			return err
		}
		if err := watch(ctx, c.catalogueCache, metadata, func(e change) { c.onCatalogue(ctx, e) }); err != nil {
			return err
		}
	}
	return watch(ctx, c.provider.GetCache(), c.New(), c.onRemote)
}

// onLocal also has a pass made over what the object needs, or needed.
func (c *kindController[T]) onLocal(e change) {
	obj := e.object()
	if obj == nil {
		return
	}
	forget(c.local, e)
	if seeded.On(seeded.RestartForgetsGoing) && e.before == nil && !obj.GetDeletionTimestamp().IsZero() {
		return
	}
	c.enqueue(client.ObjectKeyFromObject(obj))
	c.ask(c.changedNeeds(e))
	if c.Copied && c.Needs != nil && c.moved(e) {
		if local, ok := e.after.(T); ok {
			c.ask(c.Needs(local)) // What it needs is needed elsewhere.
		}
	}
}

// moved tells whether a copied object has copies elsewhere than before.
func (c *kindController[T]) moved(e change) bool {
	key := v1alpha1.AnnotationRemote + c.clusterID
	return e.before != nil && e.after != nil && e.before.GetAnnotations()[key] != e.after.GetAnnotations()[key]
}

// changedNeeds are what the object needs now and did not before, or the other
// way round: whether anything needs them may have changed.
func (c *kindController[T]) changedNeeds(e change) []decide.Ref {
	if c.Needs == nil {
		return nil
	}
	before, after := c.needsOf(e.before), c.needsOf(e.after)
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
func (c *kindController[T]) onCatalogue(ctx context.Context, e change) {
	obj := e.object()
	if obj == nil {
		return
	}
	forget(c.catalogue, e)
	key := client.ObjectKeyFromObject(obj)
	if c.isMarked(obj) {
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
	if e.before == nil || e.after == nil {
		for name, keys := range found { // They wait for it, or can do without it.
			c.kinds[name].enqueue(keys...)
		}
	}
}

func (c *kindController[T]) onRemote(e change) {
	obj := e.object()
	if obj == nil {
		return
	}
	forget(c.remote, e)
	key := localKey(obj)
	if c.Done != nil && e.before != nil {
		c.memory.Unshown.Note(key)
	}
	c.enqueueWith(c.priority(e), key)
	if e.before != nil && localKey(e.before) != key {
		c.enqueue(localKey(e.before))
	}
}

// priority is that of the pass that follows a change of a remote object. That it
// is there says nothing new: either it was made by a pass, or it is read at the
// beginning.
func (c *kindController[T]) priority(e change) int {
	before, known := e.before.(T)
	after, _ := e.after.(T) // The zero value, when it is gone.
	if known && c.Urgent != nil && c.Urgent(before, after) {
		return urgent
	}
	return 0
}

// forget drops what is known of an object that the cache has dropped.
func forget(reader *latest.Reader, e change) {
	switch {
	case e.after != nil || e.before == nil:
	case e.listed != "":
		reader.Missing(e.before, e.listed)
	default:
		reader.Forget(e.before)
	}
}

// isMarked tells whether an object carries anything of this binding's mark.
func (c *kindController[T]) isMarked(obj metav1.Object) bool {
	_, labelled := obj.GetLabels()[v1alpha1.LabelSyncedTo+c.clusterID]
	return labelled || slices.Contains(obj.GetFinalizers(), v1alpha1.FinalizerSync+c.clusterID)
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
		if c.isMarked(&known.Items[i]) {
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
