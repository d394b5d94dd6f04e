package decide

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/translate"
)

// Place is where objects of a local namespace are, or go.
type Place struct {
	translate.Target
	// Local is the local namespace.
	Local string
	// Open reports that they can go there now. If neither Open nor Leaving is set, that is
	// not known yet, and decisions wait.
	Open bool
	// Leaving reports that nothing should be there any more.
	Leaving bool
	// Problem is why it is not open.
	Problem field.Problem
}

// Need is an object that another one needs in the provider.
type Need struct {
	Kind string
	types.NamespacedName
	// Ready reports that it exists, or is optional and does not.
	Ready bool
	// Problem is why it is not ready.
	Problem field.Problem
}

// Refused is a request that an API server has refused.
type Refused struct {
	field.Problem
	// Verb and Subresource are the request, and In the provider's namespace for the copy.
	Verb        Verb
	Subresource string
	In          string
	// Wait is how long until it may be retried.
	Wait time.Duration
}

// Passes reports whether it may end at any time without a change of the object, so that it
// is retried more often.
func (r *Refused) Passes() bool {
	return r.Reason == v1alpha1.ReasonServerError || r.Reason == v1alpha1.ReasonOverBudget
}

// Subject is an object of the consumer, with all that a decision about it looks at. What is
// absent is nil.
type Subject[T Object] struct {
	Key types.NamespacedName
	// ClusterID is that of the ClusterBinding.
	ClusterID string
	// Now is the time.
	Now time.Time
	// Ahead is how far the provider's clock is ahead of ours, at least; negative: behind.
	Ahead time.Duration
	// Local is the object of the consumer. If Known is false, it has only its metadata,
	// and of that only Spillway's.
	Local T
	Known bool
	// Sites are where it should be in the provider, or is. There is at least one.
	Sites []Site[T]
	// Strays represent Local, or an older object of its name, but should not be there.
	Strays []T
	// Around is what its copies may depend on besides.
	Around
	// Reach says which addresses of the provider are shown.
	Reach network.Reach
	// Held is how long until another object of the local namespace may be sent, because
	// the provider has ended too many soon after they were sent; zero: now.
	Held time.Duration
	// Unanswered reports that the remote object may exist although the cache does not show
	// it: its creation was not answered.
	Unanswered bool
	// Lost reports that the provider was asked, and the remote object is gone.
	Lost bool
	// Waiting is how long there has been a problem with the reason WaitingFor.
	Waiting    time.Duration
	WaitingFor string
}

// Site is one place where an object should be in the provider, or is.
type Site[T Object] struct {
	Place Place
	// Wanted reports whether a copy should be there: something that is sent needs it
	// there, or its namespace is mapped.
	Wanted bool
	// Remote represents the object there.
	Remote T
	// Needs are what it needs there, if it is not there yet.
	Needs []Need
	// NamespaceUID is the UID that the place's namespace has in the provider. A new remote pod
	// needs it, because that namespace is its owner.
	NamespaceUID types.UID
	// Outdated is why what Remote uses there differs from the consumer's, or is not there.
	// The message begins with "with" or "without".
	Outdated *field.Problem
	// Refused is an API server's answer to the last try.
	Refused *Refused
}

// Snapshot is a Subject at one of its Sites: the input of a decision about one copy.
type Snapshot[T Object] struct {
	Subject[T]
	Site[T]
}

// At is the snapshot at the site of that index.
func (s Subject[T]) At(i int) Snapshot[T] { return Snapshot[T]{s, s.Sites[i]} }

// Gone reports whether neither cluster has the object.
func (s Subject[T]) Gone() bool {
	return !Present(s.Local) && !slices.ContainsFunc(s.Sites, func(site Site[T]) bool { return Present(site.Remote) })
}

// Withdrawn reports whether there should be copies nowhere, or only in namespaces that the
// consumer has asked to go.
func (s Subject[T]) Withdrawn() bool {
	return !slices.ContainsFunc(s.Sites, func(site Site[T]) bool { return site.Wanted && !site.Place.Leaving })
}

// isPending reports whether it is unknown where something that needs the object goes.
func (s Subject[T]) isPending() bool {
	return slices.ContainsFunc(s.Sites, func(site Site[T]) bool { return site.Wanted && !site.Place.Open && !site.Place.Leaving })
}

// Unready is the first need that is not ready, or nil.
func (s Site[T]) Unready() *Need {
	for i := range s.Needs {
		if !s.Needs[i].Ready {
			return &s.Needs[i]
		}
	}
	return nil
}
