package syncer

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/syncer/objects"
	"github.com/spillway-io/spillway/internal/views"
)

// Registration is a kind of any type.
type Registration interface {
	// KindName is the name of the kind.
	KindName() string
	// Object is an empty object of the kind.
	Object() client.Object
	// Pins reports whether the consumer's objects of the kind are pinned while they
	// are sent.
	Pins() bool
	// IsCopied reports whether they are copied.
	IsCopied() bool
	// IsWhole reports whether all of the consumer's objects of the kind are held, for all
	// bindings together.
	IsWhole() bool
	// IsClusterScoped reports whether they are in no namespace.
	IsClusterScoped() bool
	// CopyLabels are those that all copies have besides the mark.
	CopyLabels() map[string]string
	// indexLocal is the index objects.FieldLocal of the providers' objects of the kind.
	indexLocal() client.IndexerFunc
	// Index is that of the consumer's objects of the kind by what they need.
	Index() views.Index
	// Sample is the kind's sample, or nil if it has none.
	Sample() func(namespace, name, node string) kind.Sample[decide.Object]
	// attach makes the controller of the kind for a connection.
	attach(c *connected) error
}

// Register makes a kind one of those that the engine can deal with.
func Register[T client.Object](k kind.Kind[T]) Registration { return registration[T]{k} }

type registration[T client.Object] struct{ kind.Kind[T] }

// KindName implements Registration.
func (k registration[T]) KindName() string { return k.Name }

// Object implements Registration.
func (k registration[T]) Object() client.Object { return k.New() }

// Pins implements Registration.
func (k registration[T]) Pins() bool { return k.Selection.Pins() }

// IsCopied implements Registration.
func (k registration[T]) IsCopied() bool { return k.Selection.Copies() }

// IsWhole implements Registration.
func (k registration[T]) IsWhole() bool { return k.Selection == kind.InMappedNamespace }

// IsClusterScoped implements Registration.
func (k registration[T]) IsClusterScoped() bool { return k.Scope == kind.ScopeCluster }

// CopyLabels implements Registration.
func (k registration[T]) CopyLabels() map[string]string { return k.Labels }

// indexLocal implements Registration.
func (k registration[T]) indexLocal() client.IndexerFunc { return objects.IndexLocal(k.Selection) }

// Index implements Registration.
func (k registration[T]) Index() views.Index {
	return views.Index{Object: k.New(), Field: objects.FieldNeeds, Extract: func(obj client.Object) []string {
		local, ok := obj.(T)
		if !ok || k.Needs == nil {
			return nil
		}
		var values []string
		for _, ref := range k.Needs(local) {
			values = append(values, ref.String())
		}
		return values
	}}
}

// Sample implements Registration.
func (k registration[T]) Sample() func(namespace, name, node string) kind.Sample[decide.Object] {
	if k.Kind.Sample == nil {
		return nil
	}
	return func(namespace, name, node string) kind.Sample[decide.Object] {
		return k.Kind.Sample(namespace, name, node).Any()
	}
}

// IndexRemote adds to the caches of the providers the index by which the engine
// finds what stands for a local object.
func IndexRemote(ctx context.Context, indexer client.FieldIndexer, kinds []Registration) error {
	for _, k := range kinds {
		if err := indexer.IndexField(ctx, k.Object(), objects.FieldLocal, k.indexLocal()); err != nil {
			return err
		}
	}
	return nil
}
