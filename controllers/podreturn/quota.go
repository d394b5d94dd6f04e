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
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// withinQuota returns a function that limits what is free in a provider to what spec.quota of its binding leaves to a
// namespace. A pod that returned beyond that would not be sent, and would wait there.
func withinQuota(ctx context.Context, cached client.Reader, pods lister, binding *v1alpha1.ClusterBinding, namespace string) (func(spill.Size) spill.Size, error) {
	if len(binding.Spec.Quota) == 0 {
		return func(free spill.Size) spill.Size { return free }, nil
	}
	there, err := podsOf(ctx, pods, binding.Name, "")
	if err != nil {
		return nil, err
	}
	var own []quota.Pod // Of the namespace, wherever they are.
	for _, name := range pods.Bindings() {
		some, err := podsOf(ctx, pods, name, namespace)
		if err != nil {
			return nil, err
		}
		own = append(own, some...)
	}
	var failed error
	left := quota.Left(binding, there, func(namespace string) (map[string]string, bool) {
		labels, err := consumer.NamespaceLabels(ctx, cached, namespace)
		failed = errors.Join(failed, err)
		return labels, err == nil
	}, namespace)
	if failed != nil {
		return nil, failed
	}
	return func(free spill.Size) spill.Size { return left.Within(free, own) }, nil
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
