package decide

import (
	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Next decides what to do about one object. It handles what is the same for all kinds:
// what should not be in the provider is deleted first, and its name is not used before
// it is gone.
func Next[T Object](s Snapshot[T], syncer Syncer[T]) Plan {
	if Present(s.Local) && len(s.Strays) > 0 {
		plan := syncer.Wait(s, Problemf(v1alpha1.ReasonReplacing,
			"%s of the provider still stands for an older object of this name, and is being deleted", KeyOf(s.Strays[0])))
		plan.Actions = append(cleanUp(s.Strays), plan.Actions...)
		return plan
	}
	if !Present(s.Local) || len(s.Sites) < 2 && len(s.Unneeded) == 0 {
		return Here(s, syncer)
	}
	return sites(s, syncer)
}

// sites decides about each copy of an object, and about those that nothing needs any
// more. While it is unknown where something that needs the object goes, nothing is
// deleted: the copy may be needed there.
func sites[T Object](s Snapshot[T], syncer Syncer[T]) Plan {
	all := s.Sites
	if len(all) == 0 {
		all = []Site[T]{{s.Place, s.Remote, s.Needs, s.Refused}}
	}
	var plan Plan
	passing := false
	for _, site := range all {
		here := Here(s.at(site), syncer)
		if len(here.Actions) > 0 && here.Actions[0].Side == Local {
			return here // It is the same for all sites, and comes before the rest.
		}
		passing = passing || s.Wanted && !site.Place.Open && !site.Place.Leaving
		plan = plan.and(here)
	}
	if !passing {
		plan.Actions = append(plan.Actions, cleanUp(s.Unneeded)...)
	}
	return plan
}

// and combines two plans.
func (p Plan) and(other Plan) Plan {
	p.Actions = append(p.Actions, other.Actions...)
	switch {
	case p.Problem == nil:
		p.Problem = other.Problem
	case other.Problem != nil:
		p.Problem = &Problem{p.Problem.Reason, p.Problem.Message + "; " + other.Problem.Message}
	}
	switch {
	case p.RetryAfter == 0:
		p.RetryAfter = other.RetryAfter
	case other.RetryAfter > 0:
		p.RetryAfter = min(p.RetryAfter, other.RetryAfter)
	}
	return p
}

// Here decides about an object at its own place only.
func Here[T Object](s Snapshot[T], syncer Syncer[T]) Plan {
	switch {
	case Present(s.Local) && Present(s.Remote):
		return syncer.Sync(s)
	case Present(s.Local):
		return syncer.SyncToRemote(s)
	case Present(s.Remote):
		plan := syncer.SyncToLocal(s)
		plan.Actions = append(plan.Actions, cleanUp(s.Strays)...)
		return plan
	default:
		return act(cleanUp(s.Strays)...)
	}
}

// Syncer decides for one kind what to do. It does no I/O.
type Syncer[T Object] interface {
	// SyncToRemote decides when only the consumer has the object.
	SyncToRemote(Snapshot[T]) Plan
	// Sync decides when both clusters have it.
	Sync(Snapshot[T]) Plan
	// SyncToLocal decides when only the provider has it, in Remote.
	SyncToLocal(Snapshot[T]) Plan
	// Wait decides what to report while the object waits for something that is under way.
	Wait(Snapshot[T], Problem) Plan
}

// TopDown is the part of a Syncer that all kinds share whose source is the consumer:
// what only the provider has is cleaned up.
type TopDown[T Object] struct{}

// Wait leaves it to whatever needs the object to report what it waits for.
func (TopDown[T]) Wait(_ Snapshot[T], problem Problem) Plan {
	return wait(problem.Reason, problem.Message)
}

// SyncToLocal deletes the remote object.
func (TopDown[T]) SyncToLocal(s Snapshot[T]) Plan { return act(cleanUp([]T{s.Remote})...) }

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
