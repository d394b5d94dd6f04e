package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
)

// ErrUnknown is returned while a view is not full. Source reports when it is.
var ErrUnknown = errors.New("it is not known yet what is on the virtual node")

// Pod returns the pod of that name on the virtual node of a binding, or nil. It is
// shared: do not change it.
func (r *Inventory) Pod(ctx context.Context, binding string, key types.NamespacedName) (*corev1.Pod, error) {
	n := r.full(binding)
	if n == nil {
		return nil, ErrUnknown
	}
	pod := &corev1.Pod{}
	if err := n.view.Get(ctx, key, pod); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return pod, nil
}

// Pods returns those on the virtual node of a binding, of one namespace, or of all if
// that is "". They are shared: do not change them.
func (r *Inventory) Pods(ctx context.Context, binding, namespace string) ([]corev1.Pod, error) {
	n := r.full(binding)
	if n == nil {
		return nil, ErrUnknown
	}
	var list corev1.PodList
	if err := n.view.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods on Node %s: %w", n.view.Node, err)
	}
	return list.Items, nil
}

// Bindings returns the names of the bindings whose views are full.
func (r *Inventory) Bindings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, n := range r.nodes {
		if n.full {
			names = append(names, name)
		}
	}
	return names
}

// Left sums up the pods that must leave the virtual node of a binding before it can be
// deleted, if namespace is "", or else before the remote namespace of that one can be.
func (r *Inventory) Left(ctx context.Context, binding, namespace string) (eviction.Left, error) {
	pods, err := r.Pods(ctx, binding, namespace)
	if err != nil {
		return eviction.Left{}, err
	}
	var left []types.NamespacedName
	for i := range pods {
		if eviction.Occupies(&pods[i]) || (namespace == "" && !eviction.OfDaemonSet(&pods[i])) {
			left = append(left, client.ObjectKeyFromObject(&pods[i]))
		}
	}
	return eviction.Summarise(left, r.refusals(binding)), nil
}

// Copies names what is sent to a binding's provider because pods need it.
func (r *Inventory) Copies(ctx context.Context, binding string) ([]string, error) {
	n := r.full(binding)
	if n == nil {
		return nil, ErrUnknown
	}
	var names []string
	for _, kind := range r.copied {
		gvk, err := apiutil.GVKForObject(kind, r.scheme)
		if err != nil {
			return nil, fmt.Errorf("the kind of %T: %w", kind, err)
		}
		made, err := r.scheme.New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", gvk.Kind, err)
		}
		list, ok := made.(client.ObjectList)
		if !ok {
			return nil, fmt.Errorf("%T is no list", made)
		}
		if err := n.view.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing %s for ClusterBinding %s: %w", gvk.Kind, binding, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			if obj, ok := item.(client.Object); ok {
				names = append(names, gvk.Kind+" "+fullName(obj))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return names, nil
}

// Marked returns the consumer's objects that carry the mark of a clusterID, label or
// finalizer, in any state. They are copies of metadata only, and may be changed. It reads
// all objects of the copied kinds.
func (r *Inventory) Marked(ctx context.Context, clusterID string) ([]*metav1.PartialObjectMetadata, error) {
	var marked []*metav1.PartialObjectMetadata
	for _, kind := range r.copied {
		gvk, err := apiutil.GVKForObject(kind, r.scheme)
		if err != nil {
			return nil, fmt.Errorf("the kind of %T: %w", kind, err)
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := r.views.Catalogue.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the metadata of %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			_, labelled := item.Labels[v1alpha1.LabelSyncedTo+clusterID]
			if labelled || slices.Contains(item.Finalizers, v1alpha1.FinalizerSync+clusterID) {
				own := item.DeepCopy()
				own.SetGroupVersionKind(gvk)
				marked = append(marked, own)
			}
		}
	}
	return marked, nil
}

// Listed returns the metadata of one of the consumer's objects of a copied kind, or nil.
// It is a copy.
func (r *Inventory) Listed(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(gvk)
	if err := r.views.Catalogue.Get(ctx, key, obj); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	obj = obj.DeepCopy()
	obj.SetGroupVersionKind(gvk)
	return obj, nil
}

func fullName(obj client.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}
