package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// ErrUnknown is returned while a view is not full. Source sends a change when it is.
var ErrUnknown = errors.New("it is not known yet what is on the virtual node")

// Pod returns the pod with that name on the virtual node of a binding, or nil. It is shared, and callers must
// not change it.
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

// Pods returns the pods on the virtual node of a binding, in one namespace, or in all if namespace is "".
// They are shared, and callers must not change them.
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
func (r *known) Bindings() []string {
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

// Remaining summarises the pods that must leave the virtual node of a binding. If namespace is "", these are the
// pods to wait for before the node can be deleted. Otherwise they are the pods to wait for before that
// namespace's remote namespace can be deleted.
func (r *Inventory) Remaining(ctx context.Context, binding, namespace string) (eviction.Remaining, error) {
	pods, err := r.Pods(ctx, binding, namespace)
	if err != nil {
		return eviction.Remaining{}, err
	}
	var left []types.NamespacedName
	for i := range pods {
		if eviction.BlocksDeletion(&pods[i]) || (namespace == "" && !eviction.IsDaemonSetPod(&pods[i])) {
			left = append(left, client.ObjectKeyFromObject(&pods[i]))
		}
	}
	return eviction.Summarise(left, r.refusals(binding)), nil
}

// Copies returns the names of the objects that are sent to a binding's provider because pods need them.
func (r *Inventory) Copies(ctx context.Context, binding string) ([]string, error) {
	n := r.full(binding)
	if n == nil {
		return nil, ErrUnknown
	}
	var names []string
	for _, kind := range r.views.Kinds {
		err := n.view.Each(ctx, kind, func(obj client.Object) {
			if isProvided(obj, n.view.ClusterID) {
				return // It is no copy, and the remote namespace waits for it.
			}
			names = append(names, kind.Metadata.Kind+" "+field.Location(decide.KeyOf(obj)))
		})
		if err != nil {
			return nil, fmt.Errorf("listing what is sent because of pods for ClusterBinding %s: %w", binding, err)
		}
	}
	slices.Sort(names)
	return names, nil
}

// isProvided reports whether an object is about a volume that the provider has created, or shall create.
func isProvided(obj client.Object, clusterID string) bool {
	switch obj := obj.(type) {
	case *corev1.PersistentVolume:
		return field.StandsForRemote(obj, clusterID)
	case *corev1.PersistentVolumeClaim:
		return field.IsProvided(obj, clusterID)
	default:
		return false
	}
}
