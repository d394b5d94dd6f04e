package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/engine/objects"
)

// Registration is a kind.Kind without its type parameter. Its fields mean the same.
type Registration struct {
	Name      string
	New       func() client.Object
	Selection kind.Selection
	Scope     kind.Scope
	Labels    map[string]string
	// mapped returns where the copy of an object is, for a kind that is sent because of its namespace. wanted
	// is false if there should be no copy.
	mapped func(m *mapping.Mapping, local types.NamespacedName) (remote types.NamespacedName, wanted bool)
	// Index indexes the consumer's objects of the kind by what they need.
	Index views.Index
	// attach creates the controller of the kind for a connection.
	attach func(c *connected) error
}

// Register returns the Registration of a kind.
func Register[T client.Object](k kind.Kind[T]) Registration {
	r := Registration{
		Name: k.Name, New: func() client.Object { return k.New() }, Selection: k.Selection, Scope: k.Scope, Labels: k.Labels,
		attach: func(c *connected) error { return attach(c, &k) },
	}
	r.mapped = func(m *mapping.Mapping, local types.NamespacedName) (types.NamespacedName, bool) {
		place, wanted := m.Mapped(local.Namespace, k.Resource)
		return k.RemoteName(place.Target, local), wanted
	}
	r.Index = views.Index{Object: k.New(), Extension: k.Extension, Trim: k.TrimAny, Field: objects.FieldNeeds, Extract: func(obj client.Object) []string {
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
	return r
}

// IndexRemote adds an index to the providers' caches. The engine uses it to find the remote objects of a local
// object.
func IndexRemote(ctx context.Context, indexer client.FieldIndexer, kinds []Registration) error {
	for _, k := range kinds {
		if err := indexer.IndexField(ctx, k.New(), objects.FieldLocal, objects.IndexLocal(k.Selection)); err != nil {
			return err
		}
	}
	return nil
}

// heldOf returns a function that trims objects of these kinds as the consumer's caches do.
func heldOf(kinds []Registration) func(obj any) any {
	trim := func(obj any, oversized bool) {
		for i := range kinds {
			kinds[i].Index.Trim(obj, oversized)
		}
	}
	return func(obj any) any { return views.Trim(obj, trim) }
}
