package podevent

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// Start implements engine.Runner.
func (c *reconciler) Start(ctx context.Context) error {
	for _, of := range c.kinds {
		if err := c.follow(ctx, of); err != nil {
			return err
		}
	}
	return watchNamespaces(ctx, &intake{c})
}

// enqueue enqueues an object of the provider.
func (c *reconciler) enqueue(target podevent.Target) {
	c.Enqueue(decide.Key{Kind: name, NamespacedName: target.NamespacedName, UID: target.UID})
}

// EnqueueNamespace implements engine.Runner. A change of one namespace does not affect warnings about existing
// objects.
func (c *reconciler) EnqueueNamespace(_ context.Context, namespace string) {
	if namespace != "" {
		return
	}
	select {
	case c.changed <- struct{}{}: // The binding may ask for other events.
	default:
	}
	for _, target := range c.buffer.Targets() {
		c.enqueue(target)
	}
}

// follow forgets events about objects of a kind that are gone. An object may also be seen
// only after the events about it.
func (c *reconciler) follow(ctx context.Context, of *eventKind) error {
	err := informer.Watch(ctx, c.remote, of.New(), func(change informer.Change) {
		switch {
		case change.After == nil && change.Before != nil:
			c.buffer.Drop(of.target(change.Before))
		case change.Before == nil && c.buffer.Known(of.target(change.After)):
			c.enqueue(of.target(change.After))
		}
	})
	if err != nil {
		return err
	}
	return informer.Watch(ctx, c.localsOf(of), of.New(), func(change informer.Change) {
		if change.After == nil && change.Before != nil {
			c.memory.forget(change.Before.GetUID())
		}
	})
}

// watchNamespaces begins to watch the events when the provider has the first namespace with our mark: without
// one, no event is about what was sent. It enqueues what came before the namespace that it is about.
func watchNamespaces(ctx context.Context, to *intake) error {
	var first sync.Once
	return informer.Watch(ctx, to.remote, &corev1.Namespace{}, func(change informer.Change) {
		if change.Before == nil && change.After != nil && to.Mark.IsOn(change.After) {
			first.Do(func() { go to.run(ctx) })
			to.arrived(ctx, change.After.GetName())
		}
	})
}
