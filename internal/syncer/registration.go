package syncer

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/views"
)

// The fields that objects are indexed by.
const (
	// fieldNeeds lists what a local object needs in the provider.
	fieldNeeds = "spillway.needs"
	// fieldLocal is the local object that a remote one stands for.
	fieldLocal = "spillway.local"
)

// Registration is a kind of any type.
type Registration interface {
	// KindName is the name of the kind.
	KindName() string
	// Object is an empty object of the kind.
	Object() client.Object
	// IsCopied reports whether it is one of the kinds that carry a mark.
	IsCopied() bool
	// Index is that of the consumer's objects of the kind by what they need.
	Index() views.Index
	attach(p *pair) attached
}

// Register makes a kind one of those that the engine can deal with.
func Register[T client.Object](k kind.Kind[T]) Registration { return registration[T]{k} }

type registration[T client.Object] struct{ kind.Kind[T] }

// KindName implements Registration.
func (k registration[T]) KindName() string { return k.Name }

// Object implements Registration.
func (k registration[T]) Object() client.Object { return k.New() }

// IsCopied implements Registration.
func (k registration[T]) IsCopied() bool { return k.Copied }

// Index implements Registration.
func (k registration[T]) Index() views.Index {
	return views.Index{Object: k.New(), Field: fieldNeeds, Extract: func(obj client.Object) []string {
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

// IndexRemote adds to the caches of the providers the index by which the engine
// finds what stands for a local object.
func IndexRemote(ctx context.Context, indexer client.FieldIndexer, kinds []Registration) error {
	for _, k := range kinds {
		if err := indexer.IndexField(ctx, k.Object(), fieldLocal, func(obj client.Object) []string {
			return []string{localKey(obj).String()}
		}); err != nil {
			return err
		}
	}
	return nil
}

// localKey is the local object that a remote one says it stands for.
func localKey(remote client.Object) types.NamespacedName {
	local := provenance.LocalOf(remote)
	return types.NamespacedName{Namespace: local.Namespace, Name: local.Name}
}
