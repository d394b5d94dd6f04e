package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/field"
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

// Volumes returns the names of the consumer's PersistentVolumes that stand for volumes in a provider, in any state.
func Volumes(ctx context.Context, r *Inventory, clusterID string) ([]string, error) {
	volumes, err := volumesIn(ctx, r, clusterID)
	var names []string
	for _, volume := range volumes {
		names = append(names, volume.Name)
	}
	slices.Sort(names)
	return names, err
}

// RemoteClaims returns the names of the claims in a namespace of a provider for whose volumes PersistentVolumes of the
// consumer stand, in any state.
func RemoteClaims(ctx context.Context, r *Inventory, clusterID, namespace string) ([]string, error) {
	all, err := allRemoteClaims(ctx, r, clusterID)
	var names []string
	for _, claim := range all {
		if in, name, _ := strings.Cut(claim, "/"); in == namespace && name != "" {
			names = append(names, name)
		}
	}
	return names, err
}

// allRemoteClaims returns such claims in all namespaces of a provider, as namespace/name.
func allRemoteClaims(ctx context.Context, r *Inventory, clusterID string) ([]string, error) {
	volumes, err := volumesIn(ctx, r, clusterID)
	var all []string
	for _, volume := range volumes {
		all = append(all, volume.Annotations[v1alpha1.AnnotationRemoteClaim])
	}
	slices.Sort(all)
	return all, err
}

// volumesIn returns the metadata of such volumes. Callers share it, and must not change it.
func volumesIn(ctx context.Context, r *Inventory, clusterID string) ([]*metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeList"))
	if err := r.views.SharedCache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the metadata of PersistentVolumes: %w", err)
	}
	var all []*metav1.PartialObjectMetadata
	for i := range list.Items {
		if _, is := field.ClaimOf(&list.Items[i], clusterID); is && field.StandsForRemote(&list.Items[i], clusterID) {
			all = append(all, &list.Items[i])
		}
	}
	return all, nil
}
