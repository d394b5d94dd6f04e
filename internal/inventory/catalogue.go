package inventory

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/consumer/views"
)

// Marked returns the consumer's objects that carry the mark of a clusterID, label or finalizer, in any state.
// They are copies with only metadata, and may be changed. Marked reads all objects of the copied kinds.
func Marked(ctx context.Context, v *views.Views, clusterID string) ([]*metav1.PartialObjectMetadata, error) {
	var marked []*metav1.PartialObjectMetadata
	for _, kind := range v.Kinds {
		list := kind.List()
		if err := v.SharedCache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the metadata of %s: %w", kind.Metadata.Kind, err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			_, labelled := item.Labels[v1alpha1.LabelSyncedTo+clusterID]
			if labelled || slices.Contains(item.Finalizers, v1alpha1.FinalizerSync+clusterID) {
				own := item.DeepCopy()
				own.SetGroupVersionKind(kind.Metadata.GroupVersionKind())
				marked = append(marked, own)
			}
		}
	}
	return marked, nil
}

// GetMetadata returns the metadata of one of the consumer's objects of a copied kind, or nil. It is a copy.
func GetMetadata(ctx context.Context, v *views.Views, gvk schema.GroupVersionKind, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	if err := v.SharedCache.Get(ctx, key, obj); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	obj = obj.DeepCopy()
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

// MetadataSource is a source for a controller. It enqueues the requests for each of the consumer's objects of the
// copied kinds, and for each of their changes, but not for their deletion. It reads only metadata.
func MetadataSource[R comparable](v *views.Views, requests func(gvk schema.GroupVersionKind, obj client.Object) []R) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		for _, kind := range v.Kinds {
			if err := informer.Watch(ctx, v.SharedCache, kind.Metadata, func(e informer.Change) {
				if e.After == nil {
					return
				}
				for _, request := range requests(kind.Metadata.GroupVersionKind(), e.After) {
					queue.Add(request)
				}
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
