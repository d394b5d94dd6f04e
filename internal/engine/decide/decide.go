package decide

import (
	"cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// Next decides what to do about one object. It handles what is the same for all kinds. First it deletes
// remote objects that should not exist, and waits until their name is free. A change of the local object
// comes before all others, because it affects all copies.
//
// While it is unknown where an object that needs this one goes, Next deletes no unneeded copy: it may be
// needed there.
func Next[T Object](s ObjectState[T], syncer Syncer[T]) Plan {
	if Present(s.Local) && len(s.Duplicates) > 0 {
		plan := syncer.Wait(s.At(0), field.Problemf(v1alpha1.ReasonReplacing,
			"%s in the provider belongs to an older object of this name, and is being deleted", KeyOf(s.Duplicates[0])))
		plan.Actions = append(cleanUp(s.Duplicates), plan.Actions...)
		return plan
	}
	var plan Plan
	for i, site := range s.RemoteStates {
		if Present(s.Local) && !site.Wanted && s.isPending() {
			continue
		}
		here := decideAt(s.At(i), syncer)
		if len(here.Actions) > 0 && here.Actions[0].Side == Local {
			return here
		}
		plan = plan.and(here)
	}
	plan.Actions = append(plan.Actions, cleanUp(s.Duplicates)...)
	return plan
}

// and combines two plans.
func (p Plan) and(other Plan) Plan {
	p.Actions = append(p.Actions, other.Actions...)
	p.Event, p.TellsProblem = cmp.Or(p.Event, other.Event), p.TellsProblem || other.TellsProblem
	switch {
	case p.Problem == nil:
		p.Problem = other.Problem
	case other.Problem != nil:
		p.Problem = &field.Problem{Reason: p.Problem.Reason, Message: p.Problem.Message + "; " + other.Problem.Message}
	}
	p.RetryAfter, p.RecheckAfter = retry.Sooner(p.RetryAfter, other.RetryAfter), retry.Sooner(p.RecheckAfter, other.RecheckAfter)
	return p
}

// decideAt decides about an object at one destination.
func decideAt[T Object](s Snapshot[T], syncer Syncer[T]) Plan {
	switch {
	case Present(s.Local) && Present(s.Remote):
		return syncer.Sync(s)
	case Present(s.Local):
		return syncer.SyncToRemote(s)
	case Present(s.Remote):
		return syncer.SyncToLocal(s)
	default:
		return Plan{}
	}
}

// Syncer decides about the objects of one kind. It does no I/O.
type Syncer[T Object] interface {
	// SyncToRemote decides when only the consumer has the object.
	SyncToRemote(Snapshot[T]) Plan
	// Sync decides when both clusters have it.
	Sync(Snapshot[T]) Plan
	// SyncToLocal decides when only the provider has it, in Remote.
	SyncToLocal(Snapshot[T]) Plan
	// Wait decides what to report while the object waits for something.
	Wait(Snapshot[T], field.Problem) Plan
}

// FromConsumer is the part of a Syncer that all kinds from the consumer share. It deletes remote objects that the
// consumer does not have.
type FromConsumer[T Object] struct{}

// Wait reports nothing on the object, because the objects that need it report the problem.
func (FromConsumer[T]) Wait(_ Snapshot[T], problem field.Problem) Plan {
	return wait(problem)
}

// SyncToLocal deletes the remote object.
func (FromConsumer[T]) SyncToLocal(s Snapshot[T]) Plan { return act(cleanUp([]T{s.Remote})...) }

// cleanUp deletes remote objects that are not yet being deleted.
func cleanUp[T Object](remotes []T) []Action {
	var actions []Action
	for _, remote := range remotes {
		if remote.GetDeletionTimestamp().IsZero() {
			actions = append(actions, Action{Verb: Delete, Side: Remote, Object: remote})
		}
	}
	return actions
}
