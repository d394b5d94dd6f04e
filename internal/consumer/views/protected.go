package views

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// fieldProtected is the name of the shared cache's index by the clusterIDs that an object is protected for.
const fieldProtected = "spillway.protected"

// Need makes the View watch a kind from now on, and reports whether the kind can be read. If not, Need calls
// the function once it can. Until then the View shows no object of the kind, so call Need before you
// protect one. The Views call it when the shared cache shows a protected object.
func (view *View) Need(ctx context.Context, kind client.Object, who any, then func()) (readable bool, err error) {
	return informer.Need(ctx, view.Cache, kind, who, then)
}

// WaitForCacheSync implements cache.Cache. It waits until the View holds every object that the shared
// cache shows as protected for the binding.
func (view *View) WaitForCacheSync(ctx context.Context) bool {
	if !view.of.SharedCache.WaitForCacheSync(ctx) {
		return false
	}
	if err := view.of.needProtected(ctx, view); err != nil {
		log.FromContext(ctx).Error(err, "the protected objects are not known", "clusterID", view.ClusterID)
		return false // The cache and the manager are stopping.
	}
	return view.Cache.WaitForCacheSync(ctx)
}

// needProtected makes a View watch each kind that has a protected object in the shared cache.
func (v *Views) needProtected(ctx context.Context, view *View) error {
	for _, kind := range v.Kinds {
		list := kind.List()
		if err := v.SharedCache.List(ctx, list, client.MatchingFields{fieldProtected: view.ClusterID}, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the metadata of %s: %w", kind.Metadata.Kind, err)
		}
		if len(list.Items) == 0 {
			continue
		}
		if _, err := view.Need(ctx, kind.Object, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// follow makes the views watch a kind when the shared cache shows a protected object of it, until ctx ends. A
// View that is created later finds the earlier objects in WaitForCacheSync.
func (v *Views) follow(ctx context.Context, kind Kind) error {
	return informer.Watch(ctx, v.SharedCache, kind.Metadata, func(e informer.Change) {
		if e.After == nil {
			return
		}
		for _, view := range v.of(decide.MarkedFor(e.After)) {
			if _, err := view.Need(ctx, kind.Object, nil, nil); err != nil {
				log.FromContext(ctx).Error(err, "a protected object is not seen", "clusterID", view.ClusterID)
			}
		}
	})
}

// of returns the views with these clusterIDs.
func (v *Views) of(clusterIDs []string) []*View {
	if len(clusterIDs) == 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	var of []*View
	for _, view := range v.views {
		if slices.Contains(clusterIDs, view.ClusterID) {
			of = append(of, view)
		}
	}
	return of
}
