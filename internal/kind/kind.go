// Package kind says what the engine has to know of a kind of objects: values and
// pure functions. A kind is made of one in a folder of its own, and added to the list
// of kinds in package controllers.
package kind

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
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
	// Selection says which objects are sent.
	Selection Selection
	// Scope says whether they are in namespaces.
	Scope Scope
	// Resource is how spec.resources of a NamespaceOffloading calls the kind, if it is
	// selected by its namespace and teams choose whether it is sent. Empty: it always is.
	Resource v1alpha1.OffloadedResource
	// Never, if set, reports objects that belong to the cluster: they are never sent, and no
	// event tells anybody. It is for kinds selected by their namespace. Pure.
	Never func(local types.NamespacedName) bool
	// Most is how many objects of one namespace are sent to a provider at most; zero: as
	// many as its budget allows.
	Most int
	// Syncer decides what to do about an object.
	Syncer decide.Syncer[T]
	// RemoteName is where an object goes.
	RemoteName func(t translate.Target, local types.NamespacedName) types.NamespacedName
	// Needs are what an object needs in the provider before it is sent there. Pure.
	Needs func(local T) []decide.Ref
	// Refused, if set, reports whether the limits of the provider, or the classes of the
	// ClusterBinding, keep an object from being sent. Pure.
	Refused func(local T, around decide.Around) bool
	// Awaits, if set, reports whether it is not known yet whether Refused will: whether the provider
	// has a class. Until then, what an object needs that is not there stays as it is. Pure.
	Awaits func(local T, around decide.Around) bool
	// For, if set, returns the namespace of the provider that a remote object is for, of a
	// copied kind whose objects can be in one place at a time only. Pure.
	For func(remote T) string
	// Precedes, if set, reports whether an object has to be in the provider, as it is, before
	// a new pod of its namespace is sent there. Pure.
	Precedes func(local T, pod *corev1.Pod) bool
	// Peers, if set, reports whether the copy of an object names other namespaces: then it
	// is enqueued when these change. Pure.
	Peers func(local T) bool
	// Counts, if set, returns a function that reports whether a pod on the virtual node is one of
	// those whose number the copy depends on (decide.Around.Counted). A pod that is not Ready, or is
	// being deleted, must not be. Pure.
	Counts func(local T) func(*corev1.Pod) bool
	// Settles, if set, says how long a change of a copy must have been wanted before it is written,
	// for copies that depend on what several watches show: for a moment one may be ahead of the
	// other. A change with another name must last anew. Creations and deletions do not wait. Pure.
	Settles func(before, after T) (change string, lasting time.Duration)
	// Paced limits writes of a copy to one a second, for objects that may change many times
	// for one event. Deletions are not delayed.
	Paced bool
	// Extension tells that a CustomResourceDefinition brings the kind, which the consumer may lack.
	// Meanwhile nothing is decided about it.
	Extension bool
	// Labels are on all copies, besides the mark. They distinguish copies from objects that
	// the provider's controllers create for a copy, with the labels of that copy.
	Labels map[string]string
	// Workers is how many objects of one provider are reconciled at a time.
	Workers int
	// Urgent, if set, reports whether a changed remote object goes to the front of the
	// queue, so that users see changes of running pods before new pods start. after is the
	// zero value if the object is gone. Pure.
	Urgent func(before, after T) bool
	// Ended, if set, reports whether the provider, and not the owner, has ended the object,
	// according to a written status. Pure.
	Ended func(local T, a decide.Action) bool
	// Done, if set, is called after each action, for metrics. seen is when the change of the
	// remote object arrived that caused the action; zero if there was none.
	Done func(s decide.Subject[T], a decide.Action, seen time.Time)
	// Sample is an object for the tests that every kind passes. node is the virtual node,
	// and namespace one that is offloaded to its provider.
	Sample func(namespace, name, node string) Sample[T]
}

// Title is how messages call the kind.
func (*Kind[T]) Title() string { return reflect.TypeFor[T]().Elem().Name() }

// Selection says which of the consumer's objects of a kind are sent, and so where to.
type Selection string

const (
	// OnVirtualNode selects the objects whose spec.nodeName is that of the virtual node.
	// They go where their namespace goes, or to the mount namespace, and stay there.
	OnVirtualNode Selection = "OnVirtualNode"
	// Referenced selects the objects that sent objects need. They go to where those are.
	Referenced Selection = "Referenced"
	// InMappedNamespace selects all objects of namespaces that are mapped to one of the
	// provider. They go there, and Spillway writes nothing on them here but what the copies of
	// a decide.Reporting kind tell.
	InMappedNamespace Selection = "InMappedNamespace"
)

// Pins reports whether Spillway pins the consumer's objects while they are sent: the
// binding's view selects them by a label, and a finalizer keeps them until their copies are
// gone. The view selects pods by the name of the virtual node. Objects that are sent because
// of their namespace are in a cache that all bindings share, and the mark on a copy finds it
// when its object is gone.
func (s Selection) Pins() bool { return s == Referenced }

// Copies reports whether the objects are copied: they may have a copy at several places, and
// an event on the object tells which request was refused. A pod is at one place, and its
// condition tells that.
func (s Selection) Copies() bool { return s != OnVirtualNode }

// Whole reports whether all of the consumer's objects are held, for all bindings together.
func (s Selection) Whole() bool { return s == InMappedNamespace }

// Scope says whether the objects of a kind are in namespaces.
type Scope string

// The scopes, as in CustomResourceDefinitions.
const (
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// NewCopy makes a Kind of objects that are copied by a pure translation. O is the struct of an
// object, L that of a list.
func NewCopy[O, L any, T pointer[O], P listOf[L]](name string, selection Selection, t decide.Translation[T]) Kind[T] {
	fresh := func() T { return new(O) }
	syncer := decide.NewCopies(t, fresh)
	if selection == InMappedNamespace {
		syncer = decide.NewMapped(t)
	}
	return Kind[T]{
		Name: name, Selection: selection, Scope: ScopeNamespaced, New: fresh, NewList: func() decide.List { return P(new(L)) }, Syncer: syncer,
		RemoteName: t.RemoteName, Workers: 4,
	}
}

type (
	pointer[O any] interface {
		*O
		decide.Object
	}
	listOf[L any] interface {
		*L
		decide.List
	}
)

// Namespaced is the part of a decide.Translation that is the same for all kinds that
// live in namespaces.
type Namespaced struct{}

// RemoteName implements decide.Translation.
func (Namespaced) RemoteName(t translate.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name(local.Namespace, local.Name)}
}
