// Package objects has the objects of one kind, as one connection sees them: Locals in the consumer, Remotes in
// the provider. Both show the caches, corrected by writes of this process that the caches do not show yet
// (package ownwrites).
package objects

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// FieldNeeds is the index of the consumer's caches that lists what a local object needs in the provider.
const FieldNeeds = "spillway.needs"

// Locals are the consumer's objects of one kind. If the kind is protected, the view has the objects that are
// protected for this binding, and the shared cache has the metadata of all objects. For other kinds, the view
// has all objects, and all bindings may share it.
type Locals[T client.Object] struct {
	Kind        *kind.Kind[T]
	ClusterID   string
	View        cache.Cache
	SharedCache cache.Cache
	// ViewReader reads the view, and SharedReader the shared cache. Both include this process's writes.
	ViewReader, SharedReader *ownwrites.Reader
	// Metadata is the type by which the shared cache is asked for the kind.
	Metadata metav1.TypeMeta
}

// Get returns the local object, or an absent one if there is none. If known is false, the result has only the
// metadata that the shared cache keeps.
func (l *Locals[T]) Get(ctx context.Context, key types.NamespacedName) (local T, known bool, err error) {
	var none T
	content := l.Kind.New()
	err = l.ViewReader.Get(ctx, key, content)
	if client.IgnoreNotFound(err) != nil {
		return none, false, err
	}
	if !l.Kind.Selection.Protects() {
		if err != nil {
			return none, false, nil //nolint:nilerr // It is not found.
		}
		return content, true, nil
	}
	seen := err == nil
	metadata := l.metadata()
	if err := l.SharedReader.Get(ctx, key, metadata); err != nil {
		return none, false, client.IgnoreNotFound(err)
	}
	if seen && content.GetUID() == metadata.UID && !ownwrites.Older(content, metadata) {
		return content, true, nil
	}
	local = l.Kind.New()
	decide.CopyMetadata(local, metadata)
	return local, false, nil
}

func (l *Locals[T]) metadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: l.Metadata}
}

// InView lists the objects of a namespace that the view holds, in order. An empty name means all namespaces.
// Callers share the objects, and must not change them.
func (l *Locals[T]) InView(ctx context.Context, namespace string) ([]T, error) {
	return l.list(ctx, client.InNamespace(namespace))
}

// Needing lists the names of the objects in the view that need the given one.
func (l *Locals[T]) Needing(ctx context.Context, of decide.Key) ([]types.NamespacedName, error) {
	found, err := l.list(ctx, client.MatchingFields{FieldNeeds: of.String()})
	return keysOf(found), err
}

func (l *Locals[T]) list(ctx context.Context, of client.ListOption) ([]T, error) {
	all, err := listOf[T](ctx, l.View, l.Kind.NewList(), of)
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all, err
}

// Unprotected lists the names of the objects in a namespace that the shared cache has, and that are not
// protected for this binding.
func (l *Locals[T]) Unprotected(ctx context.Context, namespace string) ([]types.NamespacedName, error) {
	if !l.Kind.Selection.Protects() {
		return nil, nil
	}
	listed := &metav1.PartialObjectMetadataList{TypeMeta: l.Metadata}
	if err := l.SharedCache.List(ctx, listed, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var keys []types.NamespacedName
	for i := range listed.Items {
		if !decide.IsProtected(&listed.Items[i], l.ClusterID) {
			keys = append(keys, client.ObjectKeyFromObject(&listed.Items[i]))
		}
	}
	return keys, nil
}

// IsStale reports whether this process has written something about an object that the caches do not show yet.
func (l *Locals[T]) IsStale(key types.NamespacedName) bool {
	return l.ViewReader.IsStale(l.Kind.New(), key)
}

// Unshown lists the names of the objects of a namespace that this process wrote and the view does not show yet. An
// empty name means all namespaces.
func (l *Locals[T]) Unshown(namespace string) []types.NamespacedName {
	return slices.DeleteFunc(l.ViewReader.Unshown(l.Kind.New()), func(name types.NamespacedName) bool {
		return namespace != "" && name.Namespace != namespace
	})
}

// Expect notes an answer of the API server. The view does not show an object that is no longer protected, but
// the shared cache does.
func (l *Locals[T]) Expect(obj client.Object) {
	if !l.Kind.Selection.Protects() {
		l.ViewReader.Expect(obj)
		return
	}
	metadata := l.metadata()
	decide.CopyMetadata(metadata, obj)
	if !obj.GetDeletionTimestamp().IsZero() && len(obj.GetFinalizers()) == 0 { // Spillway's finalizer was the last.
		l.SharedReader.ExpectDeleted(metadata)
	} else {
		l.SharedReader.Expect(metadata)
	}
	if decide.IsProtected(obj, l.ClusterID) {
		l.ViewReader.Expect(obj)
	} else {
		l.ViewReader.Drop(obj)
	}
}

// ExpectDeletion notes that the API server accepted a deletion with this grace period, in seconds.
func (l *Locals[T]) ExpectDeletion(obj client.Object, grace *int64) {
	deleted(l.ViewReader, obj, grace)
}

// Need makes the view watch the kind from now on, if its objects are protected, and reports whether it
// can be read. If it cannot be read yet, then is called once it can.
func (l *Locals[T]) Need(ctx context.Context, who any, then func()) (bool, error) {
	if !l.Kind.Selection.Protects() {
		return true, nil
	}
	return informer.Need(ctx, l.View, l.Kind.New(), who, then)
}

// Watch calls held for each change in the view, and listed for each change in the shared cache, until
// ctx ends.
func (l *Locals[T]) Watch(ctx context.Context, held, listed func(informer.Change)) error {
	if err := watch(ctx, l.View, l.Kind.New(), l.ViewReader, held); err != nil || !l.Kind.Selection.Protects() {
		return err
	}
	return watch(ctx, l.SharedCache, l.metadata(), l.SharedReader, listed)
}

// keysOf returns the names of objects.
func keysOf[T client.Object](all []T) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(all))
	for _, obj := range all {
		keys = append(keys, client.ObjectKeyFromObject(obj))
	}
	return keys
}

func listOf[T client.Object](ctx context.Context, from client.Reader, list client.ObjectList, of ...client.ListOption) ([]T, error) {
	if err := from.List(ctx, list, append(of, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	var all []T
	err := meta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(T); ok {
			all = append(all, obj)
		}
		return nil
	})
	return all, err
}
