// Package decide decides what to do about one object that goes to a provider: it turns
// a Snapshot of it in both clusters into a Plan. Nothing here does any I/O, reads a
// clock or remembers anything, so a decision is a table in a test.
//
// Next decides what is the same for all kinds: whose an object is, names that are still
// taken, what should not be in the provider. A kind's Syncer decides the rest; most
// kinds get theirs from NewCopies and a pure Translation.
//
// A crash may come between any two actions of a plan. So each prefix of it leaves a
// state from which the next decision leads to the same end.
package decide

import (
	"fmt"
	"time"

	"github.com/spillway-io/spillway/internal/field"
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
	// Find looks for an object that should exist but is not in the cache: the manager created
	// it before a restart, or somebody removed Spillway's labels from it, or it is gone.
	Find Verb = "find"
	// Read gets the content of an object of the consumer, in order to send it: the view has
	// a digest only.
	Read Verb = "read"
)

// Action is one request. The API server refuses it if the object is not the one that
// was seen: every one but a create carries its UID.
type Action struct {
	Verb Verb
	Side Side
	// Object is what is written, found or deleted.
	Object Object
	// Before is what a patch is computed from.
	Before Object
	// Subresource that a patch goes to; empty for the object itself.
	Subresource string
	// Locked makes a patch or a deletion fail if anybody has written in between.
	Locked bool
	// Paced reports that the action may wait, so that a provider that makes up changes does
	// not cause a write for each.
	Paced bool
	// Ends reports that the action lets a successor of a deleted local object start: nothing
	// of the old one may run any more.
	Ends bool
	// Grace is the grace period of a deletion, in seconds; nil for the default.
	Grace *int64
}

// String is for logs.
func (a Action) String() string {
	return fmt.Sprintf("%s %T %s in the %s", a.Verb, a.Object, KeyOf(a.Object), a.Side)
}

// Attempt is a request that an API server has accepted, and the object in its answer.
type Attempt struct {
	Action
	Answer Object
}

// Plan is what to do, in this order. Each prefix of the actions leaves a state from
// which the next decision leads to the same end.
type Plan struct {
	Actions []Action
	// Problem is why the object is not, or not entirely, in the provider; nil
	// if it is, or if the actions bring it there.
	Problem *field.Problem
	// RetryAfter is when to decide again if nothing changes before; zero: never.
	RetryAfter time.Duration
	// LookAgain is when to decide again although nothing waits to be done; zero: never.
	LookAgain time.Duration
	// Event is what to tell the owner of the local object once the actions are done.
	Event *field.Problem
	// TellsProblem makes Problem an event, once, when no action is left: no other object
	// waits for this one, so none shows the problem.
	TellsProblem bool
}

func act(actions ...Action) Plan { return Plan{Actions: actions} }

func wait(problem field.Problem) Plan { return Plan{Problem: &problem} }
