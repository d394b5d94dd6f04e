// Package informer reports the changes of a cache.
package informer

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is an object before and after; one of the two may be nil.
type Change struct {
	Before, After client.Object
	// Initially: the object existed when the cache was filled, or when Watch began.
	Initially bool
	// Unseen: no watch saw the deletion, and Before may not be the object's last state. A list of version
	// Listed lacked the object.
	Unseen bool
	Listed string
	// Own: this process wrote After, and has already decided on it. Only package objects sets it.
	Own bool
}

// Object returns the changed object.
func (c Change) Object() client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Watch calls handle with each existing object of the kind, and with each change, until ctx ends. It does not
// wait for the cache to fill. It removes its handler when ctx ends.
func Watch(ctx context.Context, from cache.Cache, kind client.Object, handle func(Change)) error {
	informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %T: %w", kind, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initially bool) { handle(Change{After: objectOf(obj), Initially: initially}) },
		UpdateFunc: func(before, after any) { handle(Change{Before: objectOf(before), After: objectOf(after)}) },
		DeleteFunc: func(obj any) {
			last, unseen := obj.(toolscache.DeletedFinalStateUnknown)
			if !unseen {
				handle(Change{Before: objectOf(obj)})
				return
			}
			handle(Change{Before: objectOf(last.Obj), Unseen: true, Listed: listed(informer)})
		},
	})
	if err != nil {
		return fmt.Errorf("watching %T: %w", kind, err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) }) // It fails only if the informer has stopped.
	return nil
}

// listed returns the version of the last list, which the informer's store has by now.
func listed(informer cache.Informer) string {
	stored, ok := informer.(interface{ GetStore() toolscache.Store })
	if !ok {
		return ""
	}
	return stored.GetStore().LastStoreSyncResourceVersion()
}

func objectOf(event any) client.Object {
	obj, ok := event.(client.Object)
	if !ok {
		return nil
	}
	return obj
}
