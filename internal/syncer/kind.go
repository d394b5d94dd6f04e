package syncer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
	"github.com/spillway-io/spillway/internal/views"
)

// The fields that objects are indexed by.
const (
	// fieldNeeds lists what a local object needs in the provider.
	fieldNeeds = "spillway.needs"
	// fieldLocal is the local object that a remote one stands for.
	fieldLocal = "spillway.local"
)

// Ref names an object that another one needs.
type Ref struct {
	// Kind is the name of a Kind.
	Kind string
	types.NamespacedName
	// Optional tells that it need not exist.
	Optional bool
}

func (r Ref) String() string { return r.Kind + "/" + r.NamespacedName.String() }

// Kind is all that the engine has to know of a kind of objects.
type Kind[T client.Object] struct {
	// Name is the kind in lower case. It names controllers and metrics.
	Name string
	// New and NewList make empty objects.
	New     func() T
	NewList func() client.ObjectList
	// Syncer decides.
	Syncer Syncer[T]
	// RemoteName is where an object goes.
	RemoteName func(t translate.Target, local types.NamespacedName) types.NamespacedName
	// Needs are what an object needs in the provider before it is sent there. Pure.
	Needs func(local T) []Ref
	// Refused, if set, tells whether the limits of the provider keep an object from
	// being sent. Pure.
	Refused func(local T, limits *translate.Limits) bool
	// For is, of a copied kind whose objects can be used in one place at a time
	// only, the namespace of the provider that a remote object is for. Pure.
	For func(remote T) string
	// Copied kinds are sent because others need them, and carry a mark as long
	// as they are. Others are sent because they are on the virtual node.
	Copied bool
	// Workers is how many objects of one provider are dealt with at a time.
	Workers int
	// Urgent, if set, tells of a change of a remote object whether it is dealt
	// with before all that waits already: because what was begun is to be
	// finished before more is begun. after is the zero value when the object is
	// gone. Pure.
	Urgent func(before, after T) bool
	// Ended, if set, tells of the local object and of what was written as its status
	// whether that says that the provider has ended it, and not those who own it. Pure.
	Ended func(local T, written client.Object) bool
	// Done, if set, is told of each action that was carried out: for metrics.
	// seen is when the change of the remote object that led to it came in; zero
	// if that did not.
	Done func(s Snapshot[T], a Action, seen time.Time)
}

// NewCopied makes a Kind of objects that are copied because others need them.
func NewCopied[T client.Object](name string, fresh func() T, list func() client.ObjectList, t Translation[T], needs func(T) []Ref) Kind[T] {
	return Kind[T]{
		Name: name, New: fresh, NewList: list, Syncer: copies[T]{Translation: t, fresh: fresh},
		RemoteName: t.RemoteName, Needs: needs, Copied: true, Workers: 4,
	}
}

// Registration is a Kind of any type.
type Registration interface {
	// KindName is the name of the kind.
	KindName() string
	// Object is an empty object of the kind.
	Object() client.Object
	// IsCopied tells whether it is one of the kinds that carry a mark.
	IsCopied() bool
	// Index is that of the consumer's objects of the kind by what they need.
	Index() views.Index
	attach(p *pair) attached
}

var _ Registration = Kind[client.Object]{}

// KindName implements Registration.
func (k Kind[T]) KindName() string { return k.Name }

// Object implements Registration.
func (k Kind[T]) Object() client.Object { return k.New() }

// IsCopied implements Registration.
func (k Kind[T]) IsCopied() bool { return k.Copied }

// Index implements Registration.
func (k Kind[T]) Index() views.Index {
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
	for _, kind := range kinds {
		if err := indexer.IndexField(ctx, kind.Object(), fieldLocal, func(obj client.Object) []string {
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

// Namespaced is the part of a Translation that is the same for all kinds that
// live in namespaces.
type Namespaced struct{}

// RemoteName implements Translation.
func (Namespaced) RemoteName(t translate.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name(local.Namespace, local.Name)}
}
