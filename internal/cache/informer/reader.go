package informer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client is a client that reads from a cache. All returns that cache's objects without a copy.
type Client struct {
	client.Client
	cache cache.Cache
}

// NewClient is client.New, for the option NewClient of a manager.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	of, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	if options.Cache == nil {
		return of, nil
	}
	from, ok := options.Cache.Reader.(cache.Cache)
	if !ok {
		return of, nil
	}
	return &Client{of, from}, nil
}

// All returns all objects of a kind that from holds: a cache, or a Client. list is an empty list of the kind. It
// copies only pointers, so callers must not change the objects. List copies each object into its list, even with
// UnsafeDisableDeepCopy: with a thousand ClusterBindings, one list is more than a megabyte. From other readers, such as
// those of tests, All lists.
func All[T client.Object](ctx context.Context, from client.Reader, kind T, list client.ObjectList) ([]T, error) {
	if indexer, err := indexerOf(ctx, from, kind); err != nil {
		return nil, err
	} else if indexer != nil {
		held := indexer.List()
		all := make([]T, 0, len(held))
		for _, object := range held {
			if object, ok := object.(T); ok {
				all = append(all, object)
			}
		}
		return all, nil
	}
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing %T: %w", kind, err)
	}
	var all []T
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if object, ok := item.(T); ok {
			all = append(all, object)
		}
		return nil
	})
	return all, err
}

// indexerOf returns the indexer of a kind, or nil if from has none that can be read.
func indexerOf(ctx context.Context, from client.Reader, kind client.Object) (toolscache.Indexer, error) {
	if of, ok := from.(*Client); ok {
		from = of.cache
	}
	of, ok := from.(cache.Cache)
	if !ok {
		return nil, nil //nolint:nilnil // It is no cache.
	}
	informer, err := of.GetInformer(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("reading %T: %w", kind, err)
	}
	if shared, ok := informer.(toolscache.SharedIndexInformer); ok {
		return shared.GetIndexer(), nil
	}
	return nil, nil //nolint:nilnil // A cache of several namespaces has several.
}
