package syncer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/mapping"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/informer"
	"github.com/spillway-io/spillway/internal/translate"
)

// load reads where the namespaces go, before anything is decided.
func (p *pair) load(ctx context.Context, from client.Reader, w mapping.World) error {
	binding, nsm := &v1alpha1.ClusterBinding{}, &v1alpha1.NamespaceMap{}
	if err := from.Get(ctx, client.ObjectKey{Name: p.binding}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", p.binding, err)
	}
	err := from.Get(ctx, client.ObjectKey{Name: p.binding}, nsm)
	switch {
	case apierrors.IsNotFound(err):
		nsm = nil
	case err != nil:
		return fmt.Errorf("getting NamespaceMap %s: %w", p.binding, err)
	}
	p.mapping.Store(mapping.New(p.mark, binding, nsm, w))
	return nil
}

// follow has a pass made over what a change of the binding, or of its
// NamespaceMap, concerns.
func (p *pair) follow(ctx context.Context, from cache.Cache) error {
	err := informer.Watch(ctx, from, &v1alpha1.NamespaceMap{}, func(e informer.Change) {
		nsm, ok := e.After.(*v1alpha1.NamespaceMap)
		if !ok || nsm.Name != p.binding {
			return // One that was deleted is made again: nothing is decided meanwhile.
		}
		before, after := p.remap(func(m *mapping.Mapping) *mapping.Mapping { return m.WithMap(nsm) })
		if !before.Known() {
			p.enqueueNamespace(ctx, "") // Those that have no entry have waited, too.
			return
		}
		for _, namespace := range before.Differing(after) {
			p.enqueueNamespace(ctx, namespace)
		}
	})
	if err != nil {
		return err
	}
	return informer.Watch(ctx, from, &v1alpha1.ClusterBinding{}, func(e informer.Change) {
		binding, ok := e.After.(*v1alpha1.ClusterBinding)
		if !ok || binding.Name != p.binding {
			return
		}
		before, _ := p.remap(func(m *mapping.Mapping) *mapping.Mapping { return m.WithBinding(binding) })
		if before.Binding().Generation != binding.Generation || mountnamespace.Usable(before.Binding()) != mountnamespace.Usable(binding) ||
			!before.Reach().Equal(network.Of(binding)) {
			p.enqueueNamespace(ctx, "")
		}
	})
}

// followOffloadings has a pass made over a namespace whose offloading has changed
// or gone, because what waited for an entry need not wait any more. That there is
// one says no more than that there will be an entry, which brings a pass of its own.
func (p *pair) followOffloadings(ctx context.Context, from cache.Cache) error {
	return informer.Watch(ctx, from, &v1alpha1.NamespaceOffloading{}, func(e informer.Change) {
		if e.Before == nil {
			return
		}
		if e.After == nil || e.Before.GetGeneration() != e.After.GetGeneration() || e.Before.GetUID() != e.After.GetUID() {
			p.enqueueNamespace(ctx, e.Before.GetNamespace())
		}
	})
}

// world is what is known besides the binding and its map, until ctx ends.
func (e *Engine) world(ctx context.Context) mapping.World {
	return mapping.World{ManagerNamespace: e.ManagerNamespace, Selects: func(binding *v1alpha1.ClusterBinding, namespace string) bool {
		nso := &v1alpha1.NamespaceOffloading{}
		err := e.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}, nso, client.UnsafeDisableDeepCopy)
		if err != nil {
			return !apierrors.IsNotFound(err) // Not known: then nothing is decided.
		}
		var bindings v1alpha1.ClusterBindingList
		if err := e.Cache.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
			return true
		}
		return namespaceoffloading.Selects(nso, binding) && namespaceoffloading.TakenBy(nso, binding, bindings.Items) == ""
	}}
}

// limit takes up what the provider allows. What can be sent now, or cannot any
// more, and what that needs, is decided anew.
func (p *pair) limit(ctx context.Context, limits *translate.Limits) {
	if before := p.limits.Swap(limits); before != nil {
		p.enqueueNamespace(ctx, "")
	}
}

// remap changes where the namespaces go.
func (p *pair) remap(change func(*mapping.Mapping) *mapping.Mapping) (before, after *mapping.Mapping) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before = p.mapping.Load()
	after = change(before)
	p.mapping.Store(after)
	return before, after
}

func (p *pair) enqueueNamespace(ctx context.Context, namespace string) {
	for _, kind := range p.kinds {
		kind.enqueueNamespace(ctx, namespace)
	}
}
