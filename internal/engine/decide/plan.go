// Package decide decides what to do about one object that goes to a provider. It turns a Snapshot of the
// object in both clusters into a Plan. It does no I/O, reads no clock and remembers nothing, so a decision is
// a table in a test.
//
// Next decides what is the same for all kinds: whose an object is, which names are still taken, and which
// remote objects should not exist. A kind's Syncer decides the rest. Most kinds get theirs from NewCopies and
// a pure Translation.
//
// A crash may happen between any two actions of a plan. So each prefix of a plan leaves a state from which
// the next decision leads to the same end.
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
	// Find looks for an object that should exist but is not in the cache. Perhaps the manager created it
	// before a restart, somebody removed Spillway's labels from it, or it no longer exists.
	Find Verb = "find"
	// Read reads the content of a consumer's object, in order to send it. The view has only a digest.
	Read Verb = "read"
)

// Action is one request. Every request but a create carries the object's UID. So the API server refuses it if
// the object is another one.
type Action struct {
	Verb Verb
	Side Side
	// Object is what is written, found or deleted.
	Object Object
	// Before is what a patch is computed from.
	Before Object
	// Subresource is the subresource that a patch goes to; empty for the object itself.
	Subresource string
	// Locked makes a patch or a deletion fail if somebody has changed the object in between.
	Locked bool
	// Confirms are objects of the consumer that a deletion follows from. The consumer's API server is asked for them
	// just before. One with a resourceVersion must still have it. One without must not exist, or have another UID.
	Confirms []Object
	// Paced reports that the action may wait, so that a provider that invents changes does not cause a write
	// for each.
	Paced bool
	// AllowsSuccessor reports that the successor of a deleted local object may start after this action, because
	// nothing of the old object may run any more.
	AllowsSuccessor bool
	// Grace is the grace period of a deletion, in seconds; nil for the default.
	Grace *int64
}

// String describes the action for logs.
func (a Action) String() string {
	return fmt.Sprintf("%s %T %s in the %s", a.Verb, a.Object, KeyOf(a.Object), a.Side)
}

// AppliedAction is a request that an API server has accepted, and the object in the answer.
type AppliedAction struct {
	Action
	Response Object
}

// Plan is a list of actions, in order. Each prefix leaves a state from which the next decision leads to the
// same end.
type Plan struct {
	Actions []Action
	// Problem is why the object is not, or not completely, in the provider. It is nil if the object is there,
	// or if the actions bring it there.
	Problem *field.Problem
	// RetryAfter is how long until the next decision if nothing changes before; zero: never.
	RetryAfter time.Duration
	// RecheckAfter is how long until the next decision although no action is waiting; zero: never.
	RecheckAfter time.Duration
	// Event is what the owner of the local object is told once the actions are done.
	Event *field.Problem
	// TellsProblem makes Problem an event, once, when no action is left. It is for objects that no other
	// object waits for, so nothing else shows the problem.
	TellsProblem bool
}

func act(actions ...Action) Plan { return Plan{Actions: actions} }

func wait(problem field.Problem) Plan { return Plan{Problem: &problem} }
