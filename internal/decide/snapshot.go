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
	// Open reports that they can go there now. If neither Open nor Leaving is set, nothing
	// is decided: the state is a passing one.
	Open bool
	// Leaving reports that nothing should be there any more.
	Leaving bool
	// Problem is why it is not open.
	Problem Problem
}

// Need is an object that another one needs in the provider.
type Need struct {
	Kind string
	types.NamespacedName
	// Ready reports that it exists, or is optional and does not.
	Ready bool
	// Problem is why it is not ready.
	Problem Problem
}

// Refused is a request that an API server has refused.
type Refused struct {
	Problem
	// Verb and Subresource are the request, and In the provider's namespace for the copy.
	Verb        Verb
	Subresource string
	In          string
	// Wait is how long until it may be retried.
	Wait time.Duration
}

// Passes reports whether it may be over at any time without the object's owner doing
// anything, so that it is retried more often.
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

// Snapshot is the input of a decision about one object. What is absent is nil.
type Snapshot[T Object] struct {
	Key types.NamespacedName
	// Local is the object of the consumer. If Known is false, it has only its metadata,
	// and of that only Spillway's.
	Local T
	Known bool
	// Remote represents Local in the provider, at Place.
	Remote T
	// Sites are all places where an object of a copied kind is needed, including Place.
	// Unneeded are its copies elsewhere.
	Sites    []Site[T]
	Unneeded []T
	// Strays represent Local, or an older object of its name, but should not be there.
	Strays []T
	Place  Place
	// NamespaceUID is that of the namespace of Place in the provider, of what has an owner
	// there and is yet to be made: one of its Needs.
	NamespaceUID types.UID
	// Reach says which addresses of the provider are shown.
	Reach network.Reach
	// Limits are what the provider allows.
	Limits *translate.Limits
	// Elsewhere is where the new objects of another local namespace go, or would.
	Elsewhere func(namespace string) translate.Target
	// Namespaces are the local namespaces that have a counterpart in the provider. They are
	// shared, and must not be changed.
	Namespaces func() []translate.PeerNamespace
	// Wanted reports whether anything that is sent needs this object.
	Wanted bool
	Needs  []Need
	// Outdated is why what Remote uses in the provider differs from the consumer's, or is
	// not there, or nil. The message begins with "with" or "without".
	Outdated *Problem
	// Refused is an API server's answer to the last try, or nil.
	Refused *Refused
	// Unanswered reports that the remote object may exist although the cache does not show
	// it: its creation was not answered.
	Unanswered bool
	// Held is how long until another object of the local namespace may be sent, because
	// the provider has ended too many soon after they were sent; zero: now.
	Held time.Duration
	// Lost reports that the provider was asked, and the remote object is gone.
	Lost bool
	// Waiting is how long there has been a problem with the reason WaitingFor.
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

// at is the snapshot for one of the sites.
func (s Snapshot[T]) at(site Site[T]) Snapshot[T] {
	s.Place, s.Remote, s.Needs, s.Refused = site.Place, site.Remote, site.Needs, site.Refused
	return s
}
