package podevent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/podevent"
)

// Start implements syncer.Runner.
func (c *reconciler) Start(ctx context.Context) error {
	if err := c.watchPods(ctx); err != nil {
		return err
	}
	to := &intake{c}
	if err := watchNamespaces(ctx, to); err != nil {
		return err
	}
	go newReflector(ctx, c.events, to).RunWithContext(ctx)
	return nil
}

// enqueue enqueues a pod of the provider.
func (c *reconciler) enqueue(target podevent.Target) {
	c.Enqueue(decide.Key{Kind: name, NamespacedName: target.NamespacedName, UID: target.UID})
}

// EnqueueNamespace implements syncer.Runner. A change of one namespace does not affect
// warnings about its pods.
func (c *reconciler) EnqueueNamespace(_ context.Context, namespace string) {
	if namespace != "" {
		return
	}
	for _, target := range c.shelf.Targets() {
		c.enqueue(target)
	}
}

// watchPods forgets events about pods that are gone. A pod may also be seen only after
// the events about it.
func (c *reconciler) watchPods(ctx context.Context) error {
	err := informer.Watch(ctx, c.remote, &corev1.Pod{}, func(change informer.Change) {
		switch {
		case change.After == nil && change.Before != nil:
			c.shelf.Drop(targetOf(change.Before))
		case change.Before == nil && c.shelf.Known(targetOf(change.After)):
			c.enqueue(targetOf(change.After))
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
