package podevent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/informer"
)

// workers is how many pods of one provider are handled at a time. With more than one,
// two could be about the same local pod, if a provider says so.
const workers = 1

// queue takes the pods to reconcile.
type queue = workqueue.TypedRateLimitingInterface[podevent.Target]

// Start implements syncer.Runner.
func (c *reconciler) Start(ctx context.Context) error {
	unmanaged, err := controller.NewTypedUnmanaged("podevent", controller.TypedOptions[podevent.Target]{
		Reconciler:              c,
		MaxConcurrentReconciles: workers,
		SkipNameValidation:      ptr.To(true), // There is one for each binding.
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[podevent.Target](firstFailure, mostFailure),
		Logger:                  log.FromContext(ctx).V(1), // Errors are logged all the same.
	})
	if err != nil {
		return fmt.Errorf("making the podevent controller: %w", err)
	}
	err = unmanaged.Watch(source.TypedFunc[podevent.Target](func(ctx context.Context, queue queue) error {
		c.queue.Store(&queue)
		if err := c.watchPods(ctx, queue); err != nil {
			return err
		}
		to := &intake{c, queue}
		if err := watchNamespaces(ctx, to); err != nil {
			return err
		}
		go newReflector(ctx, c.events, to).RunWithContext(ctx)
		return nil
	}))
	if err != nil {
		return fmt.Errorf("watching for the podevent controller: %w", err)
	}
	connection.Go(ctx, "the podevent controller has ended", unmanaged.Start)
	return nil
}

// EnqueueNamespace implements syncer.Runner. A change of one namespace does not affect
// warnings about its pods.
func (c *reconciler) EnqueueNamespace(_ context.Context, namespace string) {
	queue := c.queue.Load()
	if queue == nil || namespace != "" {
		return
	}
	for _, target := range c.shelf.Targets() {
		(*queue).Add(target)
	}
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
	return informer.Watch(ctx, c.View, &corev1.Pod{}, func(change informer.Change) {
		if change.After == nil && change.Before != nil {
			c.memory.forget(change.Before.GetUID())
		}
	})
}

// watchNamespaces enqueues what came before the namespace that it is about.
func watchNamespaces(ctx context.Context, to *intake) error {
	return informer.Watch(ctx, to.remote, &corev1.Namespace{}, func(change informer.Change) {
		if change.Before == nil && change.After != nil && to.Mark.IsOn(change.After) {
			to.arrived(ctx, change.After.GetName())
		}
	})
}

func targetOf(pod client.Object) podevent.Target {
	return podevent.Target{
		NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetName()}, UID: pod.GetUID(),
	}
}
