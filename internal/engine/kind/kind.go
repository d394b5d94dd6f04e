// Package kind describes a kind of objects to the engine, with values and pure functions. Each kind is
// defined in its own folder, and listed in package controllers.
package kind

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Kind is everything that the engine must know about a kind of objects.
type Kind[T decide.Object] struct {
	// Name is the kind in lower case. Controllers and metrics use it in their names.
	Name string
	// New and NewList create empty objects.
	New     func() T
	NewList func() decide.List
	// Selection says which objects are sent.
	Selection Selection
	// Scope says whether the objects are in namespaces.
	Scope Scope
	// Resource is the kind's name in spec.resources of a NamespaceOffloading. It is for kinds that are
	// selected by their namespace, if teams choose whether they are sent. Empty: the kind is always sent.
	Resource v1alpha1.OffloadedResource
	// Never, if set, reports objects that belong to the cluster. They are never sent, and no event tells
	// anybody. It is for kinds that are selected by their namespace. It is pure.
	Never func(local types.NamespacedName) bool
	// Most is how many objects of one namespace are sent to a provider at most; zero: as many as the
	// provider's budget allows.
	Most int
	// Syncer decides what to do about an object.
	Syncer decide.Syncer[T]
	// RemoteName returns the namespace and name of the remote object.
	RemoteName func(t field.Target, local types.NamespacedName) types.NamespacedName
	// Needs returns what an object needs in the provider before it is sent. It is pure.
	Needs func(local T) []decide.Ref
	// Provided, if set, reports whether the provider itself has something that an object needs. Then it is not
	// sent for the object, and the object does not wait for it. It is pure.
	Provided func(local T, of decide.Key, around decide.Inputs) bool
	// Alone, if set, reports whether an object is sent although nothing needs it, to the provider of that virtual
	// node. It gets an object that may have only its metadata. It is for copied kinds. It is pure.
	Alone func(local metav1.Object, node string) bool
	// Holds, if set, reports whether a remote object holds data that exists nowhere else. See decide.Holding. It is
	// pure.
	Holds func(remote T) bool
	// Accepts, if set, reports whether the limits of the provider, and the classes of the ClusterBinding, let
	// an object be sent. If known is false, the provider has not answered yet whether it has a class. Until
	// then, nothing changes about missing objects that the object needs. It is pure.
	Accepts func(local T, around decide.Inputs) (accepted, known bool)
	// Tokens, if set, reports whether an object that is about to be sent needs API tokens of the consumer in the
	// provider first. It is pure.
	Tokens func(local T, around decide.Inputs) bool
	// For, if set, returns the namespace of the provider that a remote object is for. It is for copied kinds
	// whose objects can have only one destination at a time. It is pure.
	For func(remote T) string
	// Precedes, if set, reports whether an object must be in the provider, and up to date, before a new pod
	// of its namespace is sent. It is pure.
	Precedes func(local T, pod *corev1.Pod) bool
	// NamesNamespaces, if set, reports whether the copy of an object names other namespaces. Then a change of those
	// enqueues the object. It is pure.
	NamesNamespaces func(local T) bool
	// Counts, if set, returns a function that reports whether a pod on the virtual node is one of those that
	// the copy's content counts (decide.Inputs.Counted). It must return false for a pod that is not Ready or
	// is being deleted. It is pure.
	Counts func(local T) func(*corev1.Pod) bool
	// Settles, if set, says how long a change of a copy must persist before it is written. It is for copies
	// that depend on several watches, because one watch may be ahead of another for a moment. For a change
	// with another name the time starts again. Creations and deletions do not wait. It is pure.
	Settles func(before, after T) (change string, lasting time.Duration)
	// Paced limits writes of a copy to one per second, for objects that may change many times for one event.
	// Deletions are not delayed.
	Paced bool
	// Trim, if set, removes from a cached object what is never sent and may take much memory. oversized reports
	// that the object's labels and annotations are too large to be sent. Then Trim also removes other fields
	// whose size the API server does not limit. It is for kinds that are selected by their namespace.
	Trim func(local T, oversized bool)
	// Extension reports that a CustomResourceDefinition defines the kind, and that the consumer may lack it.
	// While it does, nothing is decided about the kind.
	Extension bool
	// Labels are set on all copies, in addition to the mark. They distinguish a copy from objects that the
	// provider's controllers create for it with its labels.
	Labels map[string]string
	// Workers is how many objects of one provider are reconciled at a time.
	Workers int
	// Urgent, if set, reports whether a changed remote object goes to the front of the queue, so that users
	// see changes of running pods before new pods start. The argument after is the zero value if the object
	// was deleted. It is pure.
	Urgent func(before, after T) bool
	// Ended, if set, reports whether a written status shows that the provider, and not the owner, has ended
	// the object. It is pure.
	Ended func(local T, a decide.Action) bool
	// Done, if set, is called after each action, for metrics. seen is when the change of the remote object
	// that caused the action arrived; zero if there was none.
	Done func(s decide.ObjectState[T], a decide.Action, seen time.Time)
}

// Title returns the kind's name in messages.
func (*Kind[T]) Title() string { return reflect.TypeFor[T]().Elem().Name() }

// Refuses reports whether it is known that an object is not sent. The kind must have Accepts.
func (k *Kind[T]) Refuses(local T, around decide.Inputs) bool {
	accepted, known := k.Accepts(local, around)
	return known && !accepted
}

// CopyNamespace returns the provider's namespace for the copy at a destination. It is empty for kinds that have
// one remote object: a pod has one destination, and a volume has no namespace.
func (k *Kind[T]) CopyNamespace(at decide.Destination) string {
	if !k.Selection.Copies() {
		return ""
	}
	return k.RemoteName(at.Target, types.NamespacedName{Namespace: at.Local, Name: "x"}).Namespace
}

// CopyNamespaceOf returns the provider's namespace for the copy that an action is about. It is empty for a
// request to the consumer, and for kinds that have one remote object.
func (k *Kind[T]) CopyNamespaceOf(a decide.Action) string {
	if !k.Selection.Copies() || a.Side == decide.Local {
		return ""
	}
	return a.Object.GetNamespace()
}

// TrimAny calls Trim for an object of the kind. It leaves other objects as they are.
func (k *Kind[T]) TrimAny(obj any, oversized bool) {
	if local, ok := obj.(T); ok && k.Trim != nil {
		k.Trim(local, oversized)
	}
}

// Selection says which of the consumer's objects of a kind are sent, and so where they go.
type Selection string

const (
	// OnVirtualNode selects the objects whose spec.nodeName is the name of the virtual node. They go where
	// their namespace goes, or to the mount namespace, and stay there.
	OnVirtualNode Selection = "OnVirtualNode"
	// Referenced selects the objects that sent objects need. They go where those are.
	Referenced Selection = "Referenced"
	// InMappedNamespace selects all objects of mapped namespaces. They go to the remote namespace. On the
	// local object, Spillway writes only what the copies of a decide.Reporting kind report.
	InMappedNamespace Selection = "InMappedNamespace"
)

// Protects reports whether Spillway protects the consumer's objects while they are sent. A label makes the
// binding's view select a protected object, and a finalizer keeps it until its copies are gone. Other kinds need
// no protection.
// The view selects pods by the name of the virtual node. Objects that are sent because of their namespace are
// in a cache that all bindings share. When such an object is gone, Spillway finds its copy by the mark.
func (s Selection) Protects() bool { return s == Referenced }

// Copies reports whether the objects are copied. They may have a copy at several destinations, and an event on
// the object reports a refused request. A pod has one destination, and its condition reports that.
func (s Selection) Copies() bool { return s != OnVirtualNode }

// ClusterWide reports whether all of the consumer's objects are held, shared by all bindings.
func (s Selection) ClusterWide() bool { return s == InMappedNamespace }

// Scope says whether the objects of a kind are in namespaces.
type Scope string

// The scopes, as in CustomResourceDefinitions.
const (
	ScopeNamespaced Scope = "Namespaced"
	ScopeCluster    Scope = "Cluster"
)

// NewCopy returns a Kind of objects that a pure translation copies. O is the struct of an object, L the
// struct of a list.
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

// Namespaced is the part of a decide.Translation that all namespaced kinds share.
type Namespaced struct{}

// RemoteName implements decide.Translation.
func (Namespaced) RemoteName(t field.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name(local.Namespace, local.Name)}
}
