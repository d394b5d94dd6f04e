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
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// FieldLocal is the index of the providers' caches by the local object that a remote object represents. See
// IndexLocal.
const FieldLocal = "spillway.local"

// IndexLocal returns the index FieldLocal of a kind. For an object that is sent because of its namespace, the
// index has the namespace and a slash as a second value. No object's name ends with a slash. A Secret with API
// tokens is found by TokensOf.
func IndexLocal(selection kind.Selection) client.IndexerFunc {
	return func(remote client.Object) []string {
		key := LocalKey(remote)
		if field.IsTokenSecret(remote) {
			return []string{indexTokens + key.String(), indexTokens}
		}
		if selection != kind.InMappedNamespace {
			return []string{key.String()}
		}
		return []string{key.String(), key.Namespace + "/"}
	}
}

// indexTokens begins the values of FieldLocal for Secrets with API tokens. No namespace has a colon.
const indexTokens = "tokens:"

// TokensOf selects the Secrets in a provider's cache that have the API tokens of pods of that name. If pod is
// nil, it selects those of all pods.
func TokensOf(pod *types.NamespacedName) client.MatchingFields {
	if pod == nil {
		return client.MatchingFields{FieldLocal: indexTokens}
	}
	return client.MatchingFields{FieldLocal: indexTokens + pod.String()}
}

// Remotes are the provider's objects of one kind that carry Spillway's mark. Secrets with API tokens are none.
type Remotes[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Mark      provenance.Mark
	Cache     cache.Cache
	// CacheReader is the cache, with this process's writes.
	CacheReader *ownwrites.Reader
	// Live reads from the provider without a cache.
	Live client.Reader
}

// LocalKey returns the name of the local object that a remote object says it represents.
func LocalKey(remote client.Object) types.NamespacedName {
	local := provenance.LocalOf(remote)
	return types.NamespacedName{Namespace: local.Namespace, Name: local.Name}
}

// RemotesFor lists all of Spillway's remote objects that represent a local object. The index may lack an object
// that was just written: RemotesFor looks for it at the given destinations.
func (r *Remotes[T]) RemotesFor(ctx context.Context, key types.NamespacedName, places []decide.Destination) ([]T, error) {
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
		switch err := r.CacheReader.Get(ctx, name, remote); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case r.Represents(remote, key): // Otherwise it is not Spillway's, or represents another object. The creation will show it.
			found = append(found, remote)
		}
	}
	return found, nil
}

// Represents reports whether a remote object is Spillway's and represents the local one.
func (r *Remotes[T]) Represents(remote T, key types.NamespacedName) bool {
	return r.Mark.IsOn(remote) && LocalKey(remote) == key && !field.IsTokenSecret(remote)
}

// Of lists the remote objects in the cache that represent objects of a local namespace. An empty name means
// all. Callers must not change them.
func (r *Remotes[T]) Of(ctx context.Context, namespace string) ([]T, error) {
	var only []client.ListOption
	if namespace != "" {
		only = append(only, client.MatchingFields{FieldLocal: namespace + "/"})
	}
	all, err := listOf[T](ctx, r.Cache, r.Kind.NewList(), only...)
	return slices.DeleteFunc(all, func(remote T) bool { return field.IsTokenSecret(remote) }), err
}

// Locals lists the local objects of a namespace that remote objects represent: those in the cache, and those that
// this process wrote and the cache does not show yet. An empty name means all namespaces.
func (r *Remotes[T]) Locals(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	all, err := r.Of(ctx, namespace)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(all))
	for _, remote := range all {
		keys = append(keys, LocalKey(remote))
	}
	for _, name := range r.CacheReader.Unshown(r.Kind.New()) {
		remote := r.Kind.New()
		if err := r.CacheReader.Get(ctx, name, remote); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return nil, err
		}
		if key := LocalKey(remote); r.Mark.IsOn(remote) && !field.IsTokenSecret(remote) && (namespace == "" || key.Namespace == namespace) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// GetLive reads an object from the provider without the cache. The cache has only objects with Spillway's mark, and
// may lag.
func (r *Remotes[T]) GetLive(ctx context.Context, name types.NamespacedName) (T, error) {
	found := r.Kind.New()
	return found, r.Live.Get(ctx, name, found)
}

// IsStale reports whether this process has written something about the object of that name that the cache does
// not show yet.
func (r *Remotes[T]) IsStale(name types.NamespacedName) bool {
	return r.CacheReader.IsStale(r.Kind.New(), name)
}

// Expect notes an answer of the API server.
func (r *Remotes[T]) Expect(obj client.Object) { r.CacheReader.Expect(obj) }

// ExpectDeletion notes that the API server accepted a deletion with this grace period, in seconds.
func (r *Remotes[T]) ExpectDeletion(obj client.Object, grace *int64) {
	deleted(r.CacheReader, obj, grace)
}

// Need makes the cache watch the kind from now on, and reports whether it can be read. If it cannot be read
// yet, then is called once it can. Until Spillway watches a kind, no object of it in the provider carries the
// mark.
func (r *Remotes[T]) Need(ctx context.Context, who any, then func()) (bool, error) {
	return informer.Need(ctx, r.Cache, r.Kind.New(), who, then)
}

// Watch calls handle for each change in the cache, until ctx ends.
func (r *Remotes[T]) Watch(ctx context.Context, handle func(informer.Change)) error {
	return watch(ctx, r.Cache, r.Kind.New(), r.CacheReader, func(e informer.Change) {
		if !field.IsTokenSecret(e.Object()) {
			handle(e)
		}
	})
}
