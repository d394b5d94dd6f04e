package objects

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
)

// deleted notes that an object is being deleted. Without finalizers and grace period, it is gone at once.
func deleted(reader *ownwrites.Reader, obj client.Object, grace *int64) {
	if grace != nil && *grace == 0 && len(obj.GetFinalizers()) == 0 {
		reader.ExpectDeleted(obj)
		return
	}
	reader.ExpectTerminating(obj, grace)
}

// watch calls handle for each change of an object. First it tells the reader what the cache shows.
func watch(ctx context.Context, from cache.Cache, of client.Object, reader *ownwrites.Reader, handle func(informer.Change)) error {
	return informer.Watch(ctx, from, of, func(e informer.Change) {
		if e.Object() == nil {
			return
		}
		forget(reader, e)
		e.Own = e.After != nil && reader.Saw(e.After)
		handle(e)
	})
}

// forget drops what is known about an object that the cache has dropped.
func forget(reader *ownwrites.Reader, e informer.Change) {
	switch {
	case e.After != nil || e.Before == nil:
	case e.Unseen && e.Listed != "":
		reader.Missing(e.Before, e.Listed)
	default:
		reader.Forget(e.Before)
	}
}
