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
	// Never, if set, names objects that are never sent, and that nobody is told about,
	// because they belong to the cluster. It is for kinds selected by their namespace. Pure.
	Never func(local types.NamespacedName) bool
	// Most is how many objects of one namespace are sent to a provider at most; zero: as
	// many as its budget allows.
	Most int
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
	// Precedes, if set, reports whether an object has to be in the provider, as it is, before
	// a new pod of its namespace is sent there. Pure.
	Precedes func(local T, pod *corev1.Pod) bool
	// Peers, if set, reports whether the copy of an object names other namespaces: then it
	// is enqueued when these change. Pure.
	Peers func(local T) bool
	// Paced limits writes of a copy to one a second, for objects that may change many times
	// for one event. Deletions are not delayed.
	Paced bool
	// Labels are on all copies, besides the mark. They tell copies from objects that the
	// provider's controllers make for a copy, to which they give the labels of that copy.
	Labels map[string]string
	// Workers is how many objects of one provider are reconciled at a time.
	Workers int
	// Urgent, if set, reports whether a changed remote object goes to the front of the
	// queue, so that what was begun ends before more begins. after is the zero value if
	// the object is gone. Pure.
	Urgent func(before, after T) bool
	// Ended, if set, reports whether a written status says that the provider, and not the
	// owner, has ended the object. Pure.
	Ended func(local T, written decide.Object) bool
	// Done, if set, is called after each action, for metrics. seen is when the change of
	// the remote object arrived that led to the action; zero if no such change did.
	Done func(s decide.Snapshot[T], a decide.Action, seen time.Time)
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
	// Referenced selects the objects that others need which are sent. They go to where
	// those are.
	Referenced Selection = "Referenced"
	// InMappedNamespace selects all objects of namespaces that are mapped to one of the
	// provider. They go there, and nothing is written on them here.
	InMappedNamespace Selection = "InMappedNamespace"
)

// Pins reports whether the consumer's objects are pinned while they are sent: a label
// has the binding's view hold them, and a finalizer keeps them until their copies are
// gone. What is on the virtual node is held by its name. What is sent because of its
// namespace is held whole, for all bindings together; a copy that has lost its object is
// found by its mark.
func (s Selection) Pins() bool { return s == Referenced }

// Copies reports whether the objects are copied: then the place of a copy says what it
// is for, and what is refused about it is an event on the object. A pod is one and the
// same in both clusters, and shows that by itself.
func (s Selection) Copies() bool { return s != OnVirtualNode }

// Scope says whether the objects of a kind are in namespaces.
type Scope string

// The scopes, as in CustomResourceDefinitions.
const (
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// NewCopy makes a Kind of objects that are copied by a pure translation.
func NewCopy[T decide.Object](name string, selection Selection, fresh func() T, list func() decide.List, t decide.Translation[T]) Kind[T] {
	syncer := decide.NewCopies(t, fresh)
	if selection == InMappedNamespace {
		syncer = decide.NewMapped(t)
	}
	return Kind[T]{
		Name: name, Selection: selection, Scope: ScopeNamespaced, New: fresh, NewList: list, Syncer: syncer,
		RemoteName: t.RemoteName, Workers: 4,
	}
}

// Namespaced is the part of a decide.Translation that is the same for all kinds that
// live in namespaces.
type Namespaced struct{}

// RemoteName implements decide.Translation.
func (Namespaced) RemoteName(t translate.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name(local.Namespace, local.Name)}
}
