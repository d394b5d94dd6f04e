package podreturn

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/quota"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// limiter limits the room in providers for one namespace.
type limiter struct {
	cached    client.Reader
	pods      lister
	namespace string
	promised  *promises
	// used returns how much of the quotas of a binding is used, from memory, or as it is counted.
	used func(binding *v1alpha1.ClusterBinding, count func() (*quota.Use, error)) (*quota.Use, error)

	own   []quota.Pod // Of the namespace, wherever they are, once they are known.
	known bool
}

func (r *Reconciler) limiter(namespace string) *limiter {
	return &limiter{cached: r.Client, pods: r.Inventory, namespace: namespace, promised: &r.promised,
		used: func(binding *v1alpha1.ClusterBinding, count func() (*quota.Use, error)) (*quota.Use, error) {
			return r.used.quotas(binding, r.Clock.Now(), count)
		}}
}

// limit limits what is free in the places of a provider to what spec.quota of its binding leaves to the namespace. A pod that
// returned beyond that would not be sent, and would wait there. What is promised in any of the places to other namespaces
// may be of the same quota.
func (l *limiter) limit(ctx context.Context, binding *v1alpha1.ClusterBinding, places []Place) error {
	if len(binding.Spec.Quota) == 0 {
		return nil
	}
	var failed error
	labels := func(namespace string) (map[string]string, bool) {
		labels, err := consumer.NamespaceLabels(ctx, l.cached, namespace)
		failed = errors.Join(failed, err)
		return labels, err == nil
	}
	use, err := l.used(binding, func() (*quota.Use, error) {
		there, err := podsOf(ctx, l.pods, binding.Name, "")
		if err != nil {
			return nil, err
		}
		use := quota.UseOf(binding, there, labels)
		return use, failed
	})
	if err != nil {
		return err
	}
	if err := l.find(ctx); err != nil {
		return err
	}
	left, rest := use.Left(l.namespace, l.promised.pods(places, l.namespace), labels)
	if failed != nil {
		return failed
	}
	for i := range places {
		places[i] = places[i].within(left, rest, l.own)
	}
	return nil
}

// find finds the pods of the namespace, which are the same for all bindings.
func (l *limiter) find(ctx context.Context) error {
	if l.known {
		return nil
	}
	l.own = nil
	for _, name := range l.pods.Bindings() {
		some, err := podsOf(ctx, l.pods, name, l.namespace)
		if err != nil {
			return err
		}
		l.own = append(l.own, some...)
	}
	l.known = true
	return nil
}

// lister is what is read of the inventory.
type lister interface {
	Bindings() []string
	Pods(ctx context.Context, binding, namespace string) ([]corev1.Pod, error)
}

func podsOf(ctx context.Context, pods lister, binding, namespace string) ([]quota.Pod, error) {
	found, err := pods.Pods(ctx, binding, namespace)
	if err != nil {
		return nil, fmt.Errorf("the pods of ClusterBinding %s: %w", binding, err)
	}
	return quota.PodsOf(found, nil), nil
}
