package decide

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Noticing is a Translation that tells the owner of an object something about its copy.
type Noticing[T Object] interface {
	// Notice returns what the owner should know about the written copy, or nil. If remote holds data (Holding), the
	// owner is told also if nothing is written. It is pure.
	Notice(local, remote T, around Inputs) *field.Problem
}

// Reporting is a Translation of a kind whose copies report to the consumer, in the status and the annotations
// of the local object.
type Reporting[T Object] interface {
	// Report returns local with what remote reports about the provider with that clusterID, or local itself
	// if nothing differs. problem says why some of it is not shown. If remote is nil, Report removes
	// everything of that provider from local. It is pure.
	Report(local, remote T, clusterID string, around Inputs) (reported T, problem *field.Problem)
}

// Keeping is a Translation that may keep the copy of an object that cannot be sent in its present state.
type Keeping interface {
	// Keeps reports whether the existing copy stays. If Remote returns a copy together with the refusal, the
	// existing copy is updated to that. It is pure.
	Keeps(refusal *field.Problem) bool
}

// Choosing is a Translation of a kind whose objects do not all go to each provider.
type Choosing[T Object] interface {
	// Choose reports whether an object goes to the provider. If it does not, its owner gets no event. If
	// known is false, that is not known yet: an existing copy stays as it is, and none is created. It is
	// pure.
	Choose(local T, reach network.Reach, around Inputs) (goes, known bool)
}

// mapped is the Syncer of the kinds whose objects are copied because their namespace is mapped. On the local
// object it writes only what a Reporting kind reports, and nothing waits for the copy. So a copy takes one
// request. If there is no copy, an event on the object says why.
//
// While Wanted is set and the destination is not Open, it decides nothing. Either the remote namespace does not
// exist yet, or it is being deleted with all copies.
type mapped[T Object] struct {
	FromConsumer[T]
	Translation[T]
}

// NewMapped returns the Syncer of a kind whose objects are copied because their namespace
// is mapped.
func NewMapped[T Object](t Translation[T]) Syncer[T] { return mapped[T]{Translation: t} }

// SyncToRemote creates the copy.
func (m mapped[T]) SyncToRemote(s Snapshot[T]) Plan { return m.reported(s, m.create(s)) }

// Sync updates the copy, or deletes it when it should not be there any more.
func (m mapped[T]) Sync(s Snapshot[T]) Plan { return m.reported(s, m.update(s)) }

func (m mapped[T]) create(s Snapshot[T]) Plan {
	goes, known := m.goes(s)
	switch {
	case !goes:
		return Plan{}
	case s.Limits != nil && s.Limits.Unknown != nil:
		return withProblemEvent(wait(*s.Limits.Unknown))
	case !known:
		return Plan{}
	}
	desired, refusal := desiredOf(m.Translation, s)
	if refusal != nil {
		return withProblemEvent(wait(*refusal))
	}
	return m.notice(s, desired, create(s, desired))
}

func (m mapped[T]) update(s Snapshot[T]) Plan {
	goes, known := m.goes(s)
	switch {
	case s.Wanted && !s.Destination.Open:
		return Plan{}
	case !goes:
		return act(cleanUp([]T{s.Remote})...)
	case !known:
		return Plan{}
	case s.Limits != nil && s.Limits.Unknown != nil: // Unknown limits would refuse every copy.
		return Plan{}
	case !s.Remote.GetDeletionTimestamp().IsZero():
		return wait(field.Problem{Reason: v1alpha1.ReasonReplacing, Message: "the remote object is being deleted; Spillway recreates it when it is gone"})
	}
	desired, refusal := desiredOf(m.Translation, s)
	if refusal != nil { // It has changed to something that is never sent.
		if keeping, ok := m.Translation.(Keeping); ok && keeping.Keeps(refusal) {
			return m.kept(s, desired, refusal)
		}
		return act(cleanUp([]T{s.Remote})...) // Its owner gets an event when the copy is gone.
	}
	return m.notice(s, desired, correct(m.Translation, s, desired))
}

// kept decides about a copy that stays although its object is refused. If there is a desired copy, the copy
// is updated to it.
func (m mapped[T]) kept(s Snapshot[T], desired T, refusal *field.Problem) Plan {
	if Present(desired) {
		if plan := correct(m.Translation, s, desired); len(plan.Actions) > 0 || plan.Problem != nil {
			return plan
		}
	}
	return withProblemEvent(wait(*refusal))
}

// SyncToLocal deletes a copy that has lost its local object, unless the remote namespace is being deleted.
func (m mapped[T]) SyncToLocal(s Snapshot[T]) Plan {
	if s.Destination.Leaving || s.Wanted && !s.Destination.Open {
		return Plan{}
	}
	return m.FromConsumer.SyncToLocal(s)
}

// goes reports whether there should be a copy at the object's destination, and whether that is known.
func (m mapped[T]) goes(s Snapshot[T]) (goes, known bool) {
	// An object that is being deleted stays in force in both clusters until its finalizers are removed.
	if !s.Wanted || !s.Destination.Open || withheld(s.Local) {
		return false, true
	}
	choosing, ok := m.Translation.(Choosing[T])
	if !ok {
		return true, true
	}
	return choosing.Choose(s.Local, s.Reach, s.inputs())
}

// reported adds to a plan what the copy reports to the consumer. It withdraws the report before the copy is
// deleted, or when the copy should no longer exist.
func (m mapped[T]) reported(s Snapshot[T], plan Plan) Plan {
	reporting, ok := m.Translation.(Reporting[T])
	if !ok || s.isUndecided() {
		return plan
	}
	remote := s.Remote
	goes, _ := m.goes(s)
	isDeletion := func(a Action) bool { return a.Verb == Delete }
	if !goes || s.Destination.Leaving || Present(remote) && (!remote.GetDeletionTimestamp().IsZero() || slices.ContainsFunc(plan.Actions, isDeletion)) {
		var none T
		remote = none
	}
	reported, problem := reporting.Report(s.Local, remote, s.ClusterID, s.inputs())
	if any(reported) != any(s.Local) {
		plan.Actions = append([]Action{{Verb: PatchStatus, Side: Local, Object: reported, Before: s.Local, Locked: true, Paced: true}}, plan.Actions...)
	}
	if plan.Problem == nil && problem != nil {
		plan.Problem, plan.TellsProblem = problem, true
	}
	return plan
}

// isUndecided reports whether nothing can be said yet about what a copy reports. Either the object's
// destination or the provider's limits are unknown, or the object should have its copy at another destination.
func (s Snapshot[T]) isUndecided() bool {
	another := func(site RemoteState[T]) bool { return site.Wanted }
	return s.Wanted && !s.Destination.Open && !s.Destination.Leaving || s.Limits == nil || s.Limits.Unknown != nil && !s.Destination.Leaving ||
		!s.Wanted && slices.ContainsFunc(s.RemoteStates, another)
}

// notice adds to a plan that writes the copy what the owner should know about it.
func (m mapped[T]) notice(s Snapshot[T], desired T, plan Plan) Plan {
	noticing, ok := m.Translation.(Noticing[T])
	if ok && len(plan.Actions) > 0 && plan.Actions[0].Verb != Delete {
		plan.Event = noticing.Notice(s.Local, desired, s.inputs())
	}
	return plan
}

// ReportUnreadable returns a plan with an event for the owner of an object in a mapped namespace. The event says
// that the object is not sent, because objects of its kind cannot be read in the provider. title is the kind's
// name in messages.
func ReportUnreadable[T Object](s ObjectState[T], syncer Syncer[T], title string, lack connection.Unreadable) Plan {
	if !Present(s.Local) {
		return Plan{}
	}
	if of, ok := syncer.(mapped[T]); ok {
		if goes, _ := of.goes(s.At(0)); !goes {
			return Plan{}
		}
	}
	problem := unreadable(title, s.Key, s.ClusterID, lack)
	return withProblemEvent(Plan{Problem: &problem})
}

// withProblemEvent makes the plan's problem an event on the object.
func withProblemEvent(plan Plan) Plan {
	plan.TellsProblem = plan.Problem != nil
	return plan
}
