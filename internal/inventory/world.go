package inventory

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/leavingpods"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
)

// Counter counts the pods that must leave. An Inventory counts them on the virtual nodes that it watches.
// A StatusCounter uses the counts of other replicas.
type Counter interface {
	// Remaining summarises the pods of an offloading's namespace that must leave the virtual node of a binding. It
	// returns ErrUnknown if that is not known yet.
	Remaining(ctx context.Context, binding, namespace string) (eviction.Remaining, error)
}

var _ Counter = &Inventory{}

// ReadProviders collects what is known about all providers, for decisions about one offloading. cache has the
// ClusterBindings and NamespaceMaps, and volumes the PersistentVolumes. The returned objects are shared.
func ReadProviders(ctx context.Context, cache client.Reader, counter Counter, volumes *Inventory, nso *v1alpha1.NamespaceOffloading) (namespaceoffloading.Providers, error) {
	bindings, err := consumer.Bindings(ctx, cache)
	if err != nil {
		return namespaceoffloading.Providers{}, err
	}
	var nsms v1alpha1.NamespaceMapList
	if err := cache.List(ctx, &nsms, client.UnsafeDisableDeepCopy); err != nil {
		return namespaceoffloading.Providers{}, fmt.Errorf("listing NamespaceMaps: %w", err)
	}
	world := namespaceoffloading.Providers{Bindings: bindings, Maps: nsms.Items, Pods: map[string]eviction.Remaining{}, Recorded: map[string][]string{}}
	byName := make(map[string]*v1alpha1.NamespaceMap, len(nsms.Items))
	for i := range nsms.Items {
		byName[nsms.Items[i].Name] = &nsms.Items[i]
	}
	for _, binding := range bindings.Usable() {
		nsm := byName[binding.Name]
		if !nso.DeletionTimestamp.IsZero() && !namespaceoffloading.Reported(nsm) {
			if world.Recorded[binding.Name], err = allRemoteClaims(ctx, volumes, binding.Spec.ClusterID); err != nil {
				return world, err
			}
		}
		if !MustLeave(nso, binding, nsm) {
			continue
		}
		left, err := counter.Remaining(ctx, binding.Name, nso.Namespace)
		if err != nil {
			return world, err
		}
		world.Pods[binding.Name] = left
	}
	return world, nil
}

// CountBlocking counts the pods that keep the remote namespace of an offloading, although the offloading no longer
// asks for it.
func CountBlocking(ctx context.Context, counter Counter, nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding) (int, error) {
	if namespaceoffloading.Selects(nso, binding) {
		return 0, nil
	}
	left, err := counter.Remaining(ctx, binding.Name, nso.Namespace)
	if errors.Is(err, ErrUnknown) {
		return 1, nil // There may be some. Source reports when it is known.
	}
	return left.Count, err
}

// MustLeave reports whether the pods of the offloading's namespace must leave the virtual node of the binding.
func MustLeave(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) bool {
	return !nso.DeletionTimestamp.IsZero() || leavingpods.EvictsAll(binding) || eviction.Unselected(nso, binding, nsm)
}

// Awaits reports whether the status or deletion of an offloading depends on its pods on the virtual node of
// that binding.
func Awaits(ctx context.Context, cache client.Reader, nso *v1alpha1.NamespaceOffloading, binding string) bool {
	if !nso.DeletionTimestamp.IsZero() {
		return true
	}
	cb, nsm := &v1alpha1.ClusterBinding{}, &v1alpha1.NamespaceMap{}
	if err := cache.Get(ctx, client.ObjectKey{Name: binding}, cb, client.UnsafeDisableDeepCopy); err != nil {
		return false // Without a binding there are no entries.
	}
	if err := cache.Get(ctx, client.ObjectKey{Name: binding}, nsm, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	return MustLeave(nso, cb, nsm)
}

// Offloadings returns the namespaces of the offloadings that a change concerns, because something waits for
// their pods.
func Offloadings(ctx context.Context, cache client.Reader, change Change) []string {
	if change.Copies {
		return nil
	}
	var all v1alpha1.NamespaceOffloadingList
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if change.Pod != nil {
		options = append(options, client.InNamespace(change.Pod.Namespace))
	}
	if err := cache.List(ctx, &all, options...); err != nil {
		return nil // The cache and the manager are stopping.
	}
	var namespaces []string
	for i := range all.Items {
		if Awaits(ctx, cache, &all.Items[i], change.Binding) {
			namespaces = append(namespaces, all.Items[i].Namespace)
		}
	}
	return namespaces
}
