package syncer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/network"
	"github.com/spillway-io/spillway/internal/translate"
)

// Side is one of the two clusters.
type Side string

// The sides, as messages call them.
const (
	Local  Side = "consumer"
	Remote Side = "provider"
)

// Verb is what an action does.
type Verb string

// The verbs.
const (
	Create      Verb = "create"
	Patch       Verb = "patch"
	PatchStatus Verb = "patch the status of"
	Delete      Verb = "delete"
	// Find looks for an object that the cache does not show, though it should
	// be there: it was made by this process's predecessor, or somebody has
	// taken Spillway's labels off it, or it is gone.
	Find Verb = "find"
	// Read gets the content of an object of the consumer, of which the view has a
	// digest, because it is to be sent.
	Read Verb = "read"
)

// Action is one request. It is refused by the API server if the object is not
// the one that was seen: every one but a create carries its UID.
type Action struct {
	Verb Verb
	Side Side
	// Object is what is written, found or deleted.
	Object client.Object
	// Before is what a patch starts from.
	Before client.Object
	// Subresource that a patch goes to; empty for the object itself.
	Subresource string
	// Locked makes a patch fail if anybody has written in between.
	Locked bool
	// Paced tells that it may wait, so that one object is not written again and
	// again for changes that its provider makes up.
	Paced bool
	// Grace is the grace period of a deletion, in seconds; nil for the default.
	Grace *int64
}

// Problem says why something does not happen: a word for programs and a
// sentence for people.
type Problem struct {
	Reason, Message string
}

// Plan is what to do, in this order. Each prefix of the actions leaves a state
// from which the next decision leads to the same end.
type Plan struct {
	Actions []Action
	// Problem is why the object is not, or not entirely, in the provider; nil
	// if it is, or if the actions bring it there.
	Problem *Problem
	// RetryAfter is when to decide anew though nothing has changed; zero: never.
	RetryAfter time.Duration
	// Event is what to tell the owner of the local object, once the actions are done.
	Event *Problem
}

func act(actions ...Action) Plan { return Plan{Actions: actions} }

func wait(reason, message string) Plan { return Plan{Problem: &Problem{reason, message}} }

func refused(r *translate.Refusal) Plan { return wait(r.Reason, r.Message) }

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
type Site[T client.Object] struct {
	Place Place
	// Remote is the copy there.
	Remote T
	// Needs are what it needs there, and Refused what an API server said of it.
	Needs   []Need
	Refused *Refused
}

// Snapshot is all that a decision about one object looks at. What is absent is nil.
type Snapshot[T client.Object] struct {
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
	// Wanted tells whether anything that is sent needs this object.
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

// Syncer decides for one kind what is to be done. It does no I/O.
type Syncer[T client.Object] interface {
	// SyncToRemote decides when the object is in the consumer only.
	SyncToRemote(Snapshot[T]) Plan
	// Sync decides when it is in both.
	Sync(Snapshot[T]) Plan
	// SyncToLocal decides when it is in the provider only, in Remote.
	SyncToLocal(Snapshot[T]) Plan
	// Wait decides what to say while the object waits for something that has
	// been decided on for it.
	Wait(Snapshot[T], Problem) Plan
}
