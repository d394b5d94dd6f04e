package objects

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// FieldLocal is the index of the providers' caches by the local object that a remote object stands for. See
// IndexLocal.
const FieldLocal = "spillway.local"

// IndexLocal returns the index FieldLocal of a kind. For an object that is sent because of its namespace, the
// index has the namespace and a slash as a second value. No object's name ends with a slash.
func IndexLocal(selection kind.Selection) client.IndexerFunc {
	return func(remote client.Object) []string {
		key := LocalKey(remote)
		if selection != kind.InMappedNamespace {
			return []string{key.String()}
		}
		return []string{key.String(), key.Namespace + "/"}
	}
}

// Remotes are the provider's objects of one kind that carry Spillway's mark.
type Remotes[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Mark      provenance.Mark
	Cache     cache.Cache
	// Seen is the cache, with this process's writes.
	Seen *ownwrites.Reader
	// Live reads from the provider without a cache.
	Live client.Reader
}

// LocalKey returns the name of the local object that a remote object says it stands for.
func LocalKey(remote client.Object) types.NamespacedName {
	local := provenance.LocalOf(remote)
	return types.NamespacedName{Namespace: local.Namespace, Name: local.Name}
}

// StandIns lists all of Spillway's remote objects that stand for a local object. The index may lack an object
// that was just written: StandIns looks for it in places.
func (r *Remotes[T]) StandIns(ctx context.Context, key types.NamespacedName, places []decide.Place) ([]T, error) {
	indexed, err := listOf[T](ctx, r.Cache, r.Kind.NewList(), client.MatchingFields{FieldLocal: key.String()})
	if err != nil {
		return nil, fmt.Errorf("listing what stands for %s %s in provider %s: %w", r.Kind.Name, key, r.ClusterID, err)
	}
	var names []types.NamespacedName
	add := func(name types.NamespacedName) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, place := range places {
		add(r.Kind.RemoteName(place.Target, key))
	}
	for _, remote := range indexed {
		add(client.ObjectKeyFromObject(remote))
	}
	var found []T
	for _, name := range names {
		remote := r.Kind.New()
		switch err := r.Seen.Get(ctx, name, remote); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case r.StandsFor(remote, key): // Otherwise it is not Spillway's, or stands for another object. The creation will show it.
			found = append(found, remote)
		}
	}
	return found, nil
}

// StandsFor reports whether a remote object is Spillway's and stands for the local one.
func (r *Remotes[T]) StandsFor(remote T, key types.NamespacedName) bool {
	return r.Mark.IsOn(remote) && LocalKey(remote) == key
}

// Of lists the remote objects in the cache that stand for objects of a local namespace. An empty name means
// all. Callers must not change them.
func (r *Remotes[T]) Of(ctx context.Context, namespace string) ([]T, error) {
	var only []client.ListOption
	if namespace != "" {
		only = append(only, client.MatchingFields{FieldLocal: namespace + "/"})
	}
	return listOf[T](ctx, r.Cache, r.Kind.NewList(), only...)
}

// Locals lists the local objects of a namespace that the remote objects in the cache stand for. An empty name
// means all namespaces.
func (r *Remotes[T]) Locals(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	all, err := r.Of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(all))
	for _, remote := range all {
		keys = append(keys, LocalKey(remote))
	}
	return keys, nil
}

// Ask reads an object from the provider without the cache. The cache has only objects with Spillway's mark, and
// may lag.
func (r *Remotes[T]) Ask(ctx context.Context, name types.NamespacedName) (T, error) {
	found := r.Kind.New()
	return found, r.Live.Get(ctx, name, found)
}

// Ahead reports whether this process has written something about the object of that name that the cache does
// not show yet.
func (r *Remotes[T]) Ahead(name types.NamespacedName) bool { return r.Seen.Ahead(r.Kind.New(), name) }

// Wrote notes an answer of the API server.
func (r *Remotes[T]) Wrote(obj client.Object) { r.Seen.Wrote(obj) }

// Deleted notes that the API server accepted a deletion with this grace period, in seconds.
func (r *Remotes[T]) Deleted(obj client.Object, grace *int64) { deleted(r.Seen, obj, grace) }

// Need makes the cache watch the kind from now on, and reports whether it can be read. If it cannot be read
// yet, then is called once it can. Until Spillway watches a kind, no object of it in the provider carries the
// mark.
func (r *Remotes[T]) Need(ctx context.Context, who any, then func()) (bool, error) {
	return informer.Need(ctx, r.Cache, r.Kind.New(), who, then)
}

// Watch calls handle for each change in the cache, until ctx ends.
func (r *Remotes[T]) Watch(ctx context.Context, handle func(informer.Change)) error {
	return watch(ctx, r.Cache, r.Kind.New(), r.Seen, handle)
}
