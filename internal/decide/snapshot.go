package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/translate"
)

// Place is where objects of a local namespace are, or go.
type Place struct {
	translate.Target
	// Local is the local namespace.
	Local string
	// Open tells that they can go there now. While it is not, and Leaving is
	// not set, nothing is decided: the state is a passing one.
	Open bool
	// Leaving tells that nothing is to be there any more.
	Leaving bool
	// Problem is why it is not open.
	Problem Problem
}

// Need is an object that another one needs in the provider.
type Need struct {
	Kind string
	types.NamespacedName
	// Ready tells that it is there, or is optional and does not exist.
	Ready bool
	// Problem is why it is not ready.
	Problem Problem
}

// Refused is what an API server has refused to do.
type Refused struct {
	Problem
	// Verb and Subresource are what was to be done, and In the namespace of the
	// provider that a copy was to be in.
	Verb        Verb
	Subresource string
	In          string
	// Wait is how long it is until it may be tried again.
	Wait time.Duration
}

// Passes reports whether it may be over at any time, for no doing of the object's
// owner, so that it is tried more often.
func (r *Refused) Passes() bool {
	return r.Reason == v1alpha1.ReasonServerError || r.Reason == v1alpha1.ReasonOverBudget
}

// Site is one place of an object of a copied kind. Most have one.
type Site[T Object] struct {
	Place Place
	// Remote is the copy there.
	Remote T
	// Needs are what it needs there, and Refused what an API server said of it.
	Needs   []Need
	Refused *Refused
}

// Snapshot is all that a decision about one object looks at. What is absent is nil.
type Snapshot[T Object] struct {
	Key types.NamespacedName
	// Local is the object of the consumer. If Known is false, only its metadata
	// is, and it has been left out as far as it is not Spillway's.
	Local T
	Known bool
	// Remote stands for Local in the provider, at Place.
	Remote T
	// Sites are all places where an object of a copied kind is needed, the one at
	// Place among them. Unneeded are its copies elsewhere.
	Sites    []Site[T]
	Unneeded []T
	// Strays stand for Local, or for an older one of its name, but should not be there.
	Strays []T
	Place  Place
	// Reach says which addresses of the provider are shown.
	Reach network.Reach
	// Limits are what the provider allows.
	Limits *translate.Limits
	// Elsewhere is where the new objects of another local namespace go, or would.
	Elsewhere func(namespace string) translate.Target
	// Wanted reports whether anything that is sent needs this object.
	Wanted bool
	Needs  []Need
	// Outdated is why what Remote uses in the provider is not as it is here, or nil.
	Outdated *Problem
	// Refused is what an API server said to the last try, or nil.
	Refused *Refused
	// Unanswered tells that the remote object may be there, though the cache does not
	// show it: its creation was not answered.
	Unanswered bool
	// Held is how long it is until another object of the local namespace may be sent,
	// because the provider has ended too many soon after they were; zero: now.
	Held time.Duration
	// Lost tells that the provider has been asked, and that the remote object
	// that there was is gone.
	Lost bool
	// Waiting is how long there has been a problem of the reason WaitingFor.
	Waiting    time.Duration
	WaitingFor string
	// ClusterID is that of the ClusterBinding.
	ClusterID string
	// Now is the time.
	Now time.Time
}

// Unready is the first need that is not ready, or nil.
func (s Snapshot[T]) Unready() *Need {
	for i := range s.Needs {
		if !s.Needs[i].Ready {
			return &s.Needs[i]
		}
	}
	return nil
}

// at is the snapshot of one of the sites.
func (s Snapshot[T]) at(site Site[T]) Snapshot[T] {
	s.Place, s.Remote, s.Needs, s.Refused = site.Place, site.Remote, site.Needs, site.Refused
	return s
}
