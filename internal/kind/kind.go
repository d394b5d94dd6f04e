// Package kind says what the engine has to know of a kind of objects: values and
// pure functions. A kind is made of one in a folder of its own, and added to the list
// of kinds in package controllers.
package kind

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/translate"
)

// Kind is all that the engine has to know of a kind of objects.
type Kind[T decide.Object] struct {
	// Name is the kind in lower case. It names controllers and metrics.
	Name string
	// New and NewList make empty objects.
	New     func() T
	NewList func() decide.List
	// Syncer decides.
	Syncer decide.Syncer[T]
	// RemoteName is where an object goes.
	RemoteName func(t translate.Target, local types.NamespacedName) types.NamespacedName
	// Needs are what an object needs in the provider before it is sent there. Pure.
	Needs func(local T) []decide.Ref
	// Refused, if set, reports whether the limits of the provider keep an object from
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
	Ended func(local T, written decide.Object) bool
	// Done, if set, is told of each action that was carried out: for metrics.
	// seen is when the change of the remote object that led to it came in; zero
	// if that did not.
	Done func(s decide.Snapshot[T], a decide.Action, seen time.Time)
}

// NewCopied makes a Kind of objects that are copied because others need them.
func NewCopied[T decide.Object](name string, fresh func() T, list func() decide.List, t decide.Translation[T], needs func(T) []decide.Ref) Kind[T] {
	return Kind[T]{
		Name: name, New: fresh, NewList: list, Syncer: decide.NewCopies(t, fresh),
		RemoteName: t.RemoteName, Needs: needs, Copied: true, Workers: 4,
	}
}

// Namespaced is the part of a decide.Translation that is the same for all kinds that
// live in namespaces.
type Namespaced struct{}

// RemoteName implements decide.Translation.
func (Namespaced) RemoteName(t translate.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name(local.Namespace, local.Name)}
}
