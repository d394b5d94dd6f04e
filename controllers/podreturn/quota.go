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

// limit limits what is free in the places of a provider to what spec.quota of its binding leaves to a namespace. A pod that
// returned beyond that would not be sent, and would wait there. What is promised in any of the places to other namespaces
// may be of the same quota.
func limit(
	ctx context.Context, cached client.Reader, pods lister, binding *v1alpha1.ClusterBinding, namespace string, places []Place, promised *promises,
) error {
	if len(binding.Spec.Quota) == 0 {
		return nil
	}
	there, err := podsOf(ctx, pods, binding.Name, "")
	if err != nil {
		return err
	}
	var own []quota.Pod // Of the namespace, wherever they are.
	for _, name := range pods.Bindings() {
		some, err := podsOf(ctx, pods, name, namespace)
		if err != nil {
			return err
		}
		own = append(own, some...)
	}
	var failed error
	labels := func(namespace string) (map[string]string, bool) {
		labels, err := consumer.NamespaceLabels(ctx, cached, namespace)
		failed = errors.Join(failed, err)
		return labels, err == nil
	}
	left, rest := quota.Left(binding, there, labels, namespace), quota.Left(binding, append(there, promised.pods(places, namespace)...), labels, namespace)
	if failed != nil {
		return failed
	}
	for i := range places {
		places[i] = places[i].within(left, rest, own)
	}
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
