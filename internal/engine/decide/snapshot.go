package decide

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field"
)

// Destination is where the objects of a local namespace are, or go.
type Destination struct {
	field.Target
	// Local is the local namespace.
	Local string
	// Open reports that the objects can go there now. If neither Open nor Leaving is set, that is not
	// known yet, and decisions wait.
	Open bool
	// Leaving reports that the destination should have no objects any more.
	Leaving bool
	// Problem is why the destination is not open.
	Problem field.Problem
}

// Need is an object that another object needs in the provider.
type Need struct {
	Kind string
	types.NamespacedName
	// Ready reports that the object exists, or is optional and does not exist.
	Ready bool
	// Problem is why the object is not ready.
	Problem field.Problem
}

// Refused is a request that an API server has refused.
type Refused struct {
	field.Problem
	// Verb and Subresource describe the request. In is the copy's namespace in the provider, or empty for a
	// request to the consumer.
	Verb        Verb
	Subresource string
	In          string
	// Wait is how long until the request may be retried.
	Wait time.Duration
}

// IsTransient reports whether the refusal may end at any time without a change of the object. Such a request is
// retried more often.
func (r *Refused) IsTransient() bool {
	return r.Reason == v1alpha1.ReasonServerError || r.Reason == v1alpha1.ReasonOverBudget
}

// ObjectState is an object of the consumer, with everything that a decision about it uses. Missing objects are
// nil.
type ObjectState[T Object] struct {
	Key types.NamespacedName
	// ClusterID is the clusterID of the ClusterBinding.
	ClusterID string
	// Now is the time.
	Now time.Time
	// ClockSkew is how far the provider's clock is ahead of the manager's, at least; negative: behind.
	ClockSkew time.Duration
	// Local is the object of the consumer. If Known is false, it has only Spillway's part of its metadata.
	Local T
	Known bool
	// RemoteStates has the state at each destination where the object should be, or is. There is at least one.
	RemoteStates []RemoteState[T]
	// Duplicates represent Local, or an older object of its name, but should not exist.
	Duplicates []T
	// Held represent an older object of its name, and hold data (Holding). They are not deleted because of Local.
	Held []T
	// Alone reports that the object is sent although nothing needs it.
	Alone bool
	// Inputs are what its copies may depend on in addition.
	Inputs
	// Reach says which addresses of the provider are shown.
	Reach network.Reach
	// SendBackoff is how long until another object of the local namespace may be sent; zero: now. It is set when the
	// provider has ended too many objects soon after they were sent.
	SendBackoff time.Duration
	// Unanswered reports that the remote object may exist although the cache does not show it, because its
	// creation was not answered.
	Unanswered bool
	// Lost reports that the provider was asked, and the remote object does not exist any more.
	Lost bool
	// Waiting is how long the problem with the reason WaitingFor has lasted.
	Waiting    time.Duration
	WaitingFor string
}

// RemoteState is the state of an object at one destination where it should be, or is.
type RemoteState[T Object] struct {
	Destination Destination
	// Wanted reports whether a copy should be at the destination. Either a sent object needs it there, or its
	// namespace is mapped.
	Wanted bool
	// Remote is the remote object at the destination.
	Remote T
	// Needs are the objects that it needs at the destination, if it does not exist there yet.
	Needs []Need
	// NamespaceUID is the UID of the destination's namespace. A new remote pod needs it, because
	// that namespace is its owner.
	NamespaceUID types.UID
	// Outdated is why the objects that Remote uses differ from the consumer's, or are missing. Its message
	// begins with "with" or "without".
	Outdated *field.Problem
	// Refused is the last request that an API server has refused, or nil.
	Refused *Refused
}

// Snapshot is an ObjectState with one of its RemoteStates. It is the input of a decision about one copy.
type Snapshot[T Object] struct {
	ObjectState[T]
	RemoteState[T]
}

// At returns the snapshot with the RemoteState of that index.
func (s ObjectState[T]) At(i int) Snapshot[T] { return Snapshot[T]{s, s.RemoteStates[i]} }

// NotFound reports whether neither cluster has the object.
func (s ObjectState[T]) NotFound() bool {
	return !Present(s.Local) && !slices.ContainsFunc(s.RemoteStates, func(site RemoteState[T]) bool { return Present(site.Remote) })
}

// Withdrawn reports whether no copy should exist, except in remote namespaces whose deletion the consumer has
// requested.
func (s ObjectState[T]) Withdrawn() bool {
	return !slices.ContainsFunc(s.RemoteStates, func(site RemoteState[T]) bool { return site.Wanted && !site.Destination.Leaving })
}

// isPending reports whether the destination of some object that needs this one is unknown.
func (s ObjectState[T]) isPending() bool {
	return slices.ContainsFunc(s.RemoteStates, func(site RemoteState[T]) bool {
		return site.Wanted && !site.Destination.Open && !site.Destination.Leaving
	})
}

// Unready returns the first need that is not ready, or nil.
func (s RemoteState[T]) Unready() *Need {
	for i := range s.Needs {
		if !s.Needs[i].Ready {
			return &s.Needs[i]
		}
	}
	return nil
}
