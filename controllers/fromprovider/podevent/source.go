package podevent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/informer"
)

// workers is how many pods of one provider are handled at a time. With more than one,
// two could be about the same local pod, if a provider says so.
const workers = 1

// queue takes the pods to reconcile.
type queue = workqueue.TypedRateLimitingInterface[podevent.Target]

// start runs the controller until ctx ends.
func (c *reconciler) start(ctx context.Context, binding string, bindings cache.Cache, events corev1client.EventInterface) error {
	unmanaged, err := controller.NewTypedUnmanaged("podevent", controller.TypedOptions[podevent.Target]{
		Reconciler:              c,
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      ptr.To(true), // There is one for each binding.
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[podevent.Target](firstFailure, mostFailure),
		Logger:                  log.FromContext(ctx).V(1), // Errors are logged all the same.
	})
	if err != nil {
		return fmt.Errorf("making the controller: %w", err)
	}
	err = unmanaged.Watch(source.TypedFunc[podevent.Target](func(ctx context.Context, queue queue) error {
		if err := c.watchBinding(ctx, bindings, binding, queue); err != nil {
			return err
		}
		if err := c.watchPods(ctx, queue); err != nil {
			return err
		}
		to := &intake{c, queue}
		if err := watchNamespaces(ctx, to); err != nil {
			return err
		}
		go newReflector(ctx, events, to).RunWithContext(ctx)
		return nil
	}))
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	return unmanaged.Start(ctx)
}

// watchBinding enqueues everything when the binding is no longer paused.
func (c *reconciler) watchBinding(ctx context.Context, from cache.Cache, name string, queue queue) error {
	return informer.Watch(ctx, from, &v1alpha1.ClusterBinding{}, func(change informer.Change) {
		binding, ok := change.After.(*v1alpha1.ClusterBinding)
		if !ok || binding.Name != name {
			return
		}
		if before := c.paused.Swap(binding.Spec.Paused); before && !binding.Spec.Paused {
			for _, target := range c.shelf.Targets() {
				queue.Add(target)
			}
		}
	})
}

// watchPods forgets events about pods that are gone. A pod may also be seen only after
// the events about it.
func (c *reconciler) watchPods(ctx context.Context, queue queue) error {
	err := informer.Watch(ctx, c.remote, &corev1.Pod{}, func(change informer.Change) {
		switch {
		case change.After == nil && change.Before != nil:
			c.shelf.Drop(targetOf(change.Before))
		case change.Before == nil && c.shelf.Known(targetOf(change.After)):
			queue.Add(targetOf(change.After))
		}
	})
	if err != nil {
		return err
	}
	return informer.Watch(ctx, c.view, &corev1.Pod{}, func(change informer.Change) {
		if change.After == nil && change.Before != nil {
			c.memory.forget(change.Before.GetUID())
		}
	})
}

// watchNamespaces enqueues what came before the namespace that it is about.
func watchNamespaces(ctx context.Context, to *intake) error {
	return informer.Watch(ctx, to.remote, &corev1.Namespace{}, func(change informer.Change) {
		if change.Before == nil && change.After != nil && to.mark.IsOn(change.After) {
			to.arrived(ctx, change.After.GetName())
		}
	})
}

func targetOf(pod client.Object) podevent.Target {
	return podevent.Target{
		NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName()}, UID: pod.GetUID(),
	}
}
