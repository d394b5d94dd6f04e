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
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/provenance"
)

// FieldLocal is the index of the providers' caches by the local object that a remote
// one stands for; see IndexLocal.
const FieldLocal = "spillway.local"

// IndexLocal returns the index FieldLocal of a kind. An object that is sent because of its
// namespace has that namespace as a second value, with a slash, which no object's name ends with.
func IndexLocal(selection kind.Selection) client.IndexerFunc {
	return func(remote client.Object) []string {
		key := LocalKey(remote)
		if selection != kind.InMappedNamespace {
			return []string{key.String()}
		}
		return []string{key.String(), key.Namespace + "/"}
	}
}

// Remotes are the provider's objects of one kind that carry our mark.
type Remotes[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Mark      provenance.Mark
	Cache     cache.Cache
	// Seen is the cache, with what has been written.
	Seen *ownwrites.Reader
	// Live asks the provider itself.
	Live client.Reader
}

// LocalKey is the local object that a remote one says it stands for.
func LocalKey(remote client.Object) types.NamespacedName {
	local := provenance.LocalOf(remote)
	return types.NamespacedName{Namespace: local.Namespace, Name: local.Name}
}

// StandIns are all objects of the provider that are ours and stand for a local
// object. What has just been written, and is not in the index yet, is in one of
// these places.
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
		case r.StandsFor(remote, key): // Else not ours, or somebody else's: creating will tell.
			found = append(found, remote)
		}
	}
	return found, nil
}

// StandsFor reports whether an object is ours, and stands for that local one.
func (r *Remotes[T]) StandsFor(remote T, key types.NamespacedName) bool {
	return r.Mark.IsOn(remote) && LocalKey(remote) == key
}

// Of are those in the cache that stand for objects of a local namespace, or all if it is
// empty. They must not be changed.
func (r *Remotes[T]) Of(ctx context.Context, namespace string) ([]T, error) {
	var only []client.ListOption
	if namespace != "" {
		only = append(only, client.MatchingFields{FieldLocal: namespace + "/"})
	}
	return listOf[T](ctx, r.Cache, r.Kind.NewList(), only...)
}

// Locals are the local objects of a namespace, or of all if it is empty, that those in the
// cache stand for.
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

// Ask gets an object from the provider itself: the cache holds what carries our mark
// only, and may be a moment behind.
func (r *Remotes[T]) Ask(ctx context.Context, name types.NamespacedName) (T, error) {
	found := r.Kind.New()
	return found, r.Live.Get(ctx, name, found)
}

// Ahead reports whether something was written about the object of that name that the
// cache does not show yet.
func (r *Remotes[T]) Ahead(name types.NamespacedName) bool { return r.Seen.Ahead(r.Kind.New(), name) }

// Wrote notes what the API server has answered.
func (r *Remotes[T]) Wrote(obj client.Object) { r.Seen.Wrote(obj) }

// Deleted notes that a deletion was accepted, with that grace period in seconds.
func (r *Remotes[T]) Deleted(obj client.Object, grace *int64) { deleted(r.Seen, obj, grace) }

// Need has the kind watched from now on, and reports whether it can be read. If not yet, then is
// called once it can be. While it is not watched, nothing in the provider carries our mark.
func (r *Remotes[T]) Need(ctx context.Context, who any, then func()) (bool, error) {
	return informer.Need(ctx, r.Cache, r.Kind.New(), who, then)
}

// Watch calls handle for each change of what the cache holds, until ctx ends.
func (r *Remotes[T]) Watch(ctx context.Context, handle func(informer.Change)) error {
	return watch(ctx, r.Cache, r.Kind.New(), r.Seen, handle)
}
