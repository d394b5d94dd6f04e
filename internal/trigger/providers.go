package trigger

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/internal/cache/informer"
)

// Providers enqueues the ClusterBinding of a provider when the provider is engaged, and when something there
// changes. Nothing of an engagement stays after it. multicluster-runtime's own controllers keep goroutines and the
// caches of each engagement until the process ends.
//
// It is added to the multicluster manager, and its Source to the controller.
type Providers struct {
	// Watch calls changed after each change in a provider that matters, until ctx ends. It must not block.
	Watch func(ctx context.Context, provider cluster.Cluster, changed func()) error

	mu    sync.Mutex
	queue Queue    // Nil before the controller starts.
	early []string // The bindings that were to be enqueued before.
}

var _ mcmanager.Runnable = &Providers{}

// Source returns the source for the controller, which has one queue.
func (p *Providers) Source() source.Source {
	return source.Func(func(_ context.Context, queue Queue) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, name := range p.early {
			queue.Add(Named(name))
		}
		p.queue, p.early = queue, nil
		return nil
	})
}

// Start implements mcmanager.Runnable. It only waits.
func (*Providers) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage implements mcmanager.Runnable. A provider without any remote object causes no other event.
func (p *Providers) Engage(ctx context.Context, name multicluster.ClusterName, provider cluster.Cluster) error {
	if name == mcmanager.LocalCluster {
		return nil
	}
	enqueue := func() { p.enqueue(string(name)) }
	if err := p.Watch(ctx, provider, enqueue); err != nil {
		return err
	}
	enqueue() // Now: a change between a reconcile and the watch would be lost.
	return nil
}

func (p *Providers) enqueue(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queue == nil {
		p.early = append(p.early, name)
		return
	}
	p.queue.Add(Named(name))
}

// Changes is Providers.Watch for the objects of one kind. It reports all of them, creations and deletions, and
// the updates for which differs holds.
func Changes[T client.Object](
	ctx context.Context, provider cluster.Cluster, kind T, differs func(before, after T) bool, changed func(),
) error {
	return informer.Watch(ctx, provider.GetCache(), kind, func(change informer.Change) {
		before, updated := change.Before.(T)
		after, exists := change.After.(T)
		if !updated || !exists || differs(before, after) {
			changed()
		}
	})
}
