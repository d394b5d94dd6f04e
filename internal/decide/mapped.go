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
	// Notice is what the owner should know of the copy that is written, or nil. Pure.
	Notice(local, remote T, around Around) *field.Problem
}

// Reporting is a Translation of a kind whose copies have something to tell the consumer, in the
// status and the annotations of its object.
type Reporting[T Object] interface {
	// Report returns local with what remote tells of the provider with that clusterID, or
	// local itself if nothing differs, and why some of it is not shown. If remote is nil,
	// nothing of that provider is left in local. Pure.
	Report(local, remote T, clusterID string, around Around) (reported T, problem *field.Problem)
}

// Keeping is a Translation that may keep a copy whose object cannot be sent as it is now.
type Keeping interface {
	// Keeps reports whether the copy of an earlier state stays; if Remote returns one with the
	// refusal, it becomes that. Pure.
	Keeps(refusal *field.Problem) bool
}

// Choosing is a Translation of a kind of which not all objects are for each provider.
type Choosing[T Object] interface {
	// Choose reports whether an object is for the provider; no event tells its owner if it is
	// not. If known is false, nobody can say yet: a copy that is there stays as it is, and none
	// is created. Pure.
	Choose(local T, reach network.Reach, around Around) (goes, known bool)
}

// mapped is the Syncer of the kinds whose objects are copied because their namespace is
// mapped. It writes nothing on the local object but what a Reporting kind tells, and nothing
// waits for the copy. So a copy takes one request, and an event on the object tells its owner
// why there is none.
//
// While Wanted is set and the place is not Open, it decides nothing: the remote namespace
// is not there yet; or it is being deleted, and all copies with it.
type mapped[T Object] struct {
	TopDown[T]
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
		return tell(wait(*s.Limits.Unknown))
	case !known:
		return Plan{}
	}
	desired, refusal := desiredOf(m.Translation, s)
	if refusal != nil {
		return tell(wait(*refusal))
	}
	return m.notice(s, desired, create(s, desired))
}

func (m mapped[T]) update(s Snapshot[T]) Plan {
	goes, known := m.goes(s)
	switch {
	case s.Wanted && !s.Place.Open:
		return Plan{}
	case !goes:
		return act(cleanUp([]T{s.Remote})...)
	case !known:
		return Plan{}
	case s.Limits != nil && s.Limits.Unknown != nil: // Unknown limits would refuse every copy.
		return Plan{}
	case !s.Remote.GetDeletionTimestamp().IsZero():
		return wait(field.Problem{Reason: v1alpha1.ReasonReplacing, Message: "its copy is being deleted in the provider, and is made again when it is gone"})
	}
	desired, refusal := desiredOf(m.Translation, s)
	if refusal != nil { // It has changed to what is never sent.
		if keeping, ok := m.Translation.(Keeping); ok && keeping.Keeps(refusal) {
			return m.kept(s, desired, refusal)
		}
		return act(cleanUp([]T{s.Remote})...) // Its owner is told when the copy is gone.
	}
	return m.notice(s, desired, correct(m.Translation, s, desired))
}

// kept is about a copy that stays though its object is refused. It follows the object if there is a
// desired one.
func (m mapped[T]) kept(s Snapshot[T], desired T, refusal *field.Problem) Plan {
	if Present(desired) {
		if plan := correct(m.Translation, s, desired); len(plan.Actions) > 0 || plan.Problem != nil {
			return plan
		}
	}
	return tell(wait(*refusal))
}

// SyncToLocal deletes a copy whose local object is gone, unless its namespace is being
// deleted.
func (m mapped[T]) SyncToLocal(s Snapshot[T]) Plan {
	if s.Place.Leaving || s.Wanted && !s.Place.Open {
		return Plan{}
	}
	return m.TopDown.SyncToLocal(s)
}

// goes reports whether there should be a copy at the object's place, and whether that is
// known.
func (m mapped[T]) goes(s Snapshot[T]) (goes, known bool) {
	// An object that is being deleted is in force until its finalizers are gone, on both sides.
	if !s.Wanted || !s.Place.Open || withheld(s.Local) {
		return false, true
	}
	choosing, ok := m.Translation.(Choosing[T])
	if !ok {
		return true, true
	}
	return choosing.Choose(s.Local, s.Reach, s.around())
}

// reported adds to a plan what the copy tells the consumer. What it has told is taken back
// before it is deleted, and when it should not be there any more.
func (m mapped[T]) reported(s Snapshot[T], plan Plan) Plan {
	reporting, ok := m.Translation.(Reporting[T])
	if !ok || s.isUndecided() {
		return plan
	}
	remote := s.Remote
	goes, _ := m.goes(s)
	isDeletion := func(a Action) bool { return a.Verb == Delete }
	if !goes || s.Place.Leaving || Present(remote) && (!remote.GetDeletionTimestamp().IsZero() || slices.ContainsFunc(plan.Actions, isDeletion)) {
		var none T
		remote = none
	}
	reported, problem := reporting.Report(s.Local, remote, s.ClusterID, s.around())
	if any(reported) != any(s.Local) {
		plan.Actions = append([]Action{{Verb: PatchStatus, Side: Local, Object: reported, Before: s.Local, Locked: true, Paced: true}}, plan.Actions...)
	}
	if plan.Problem == nil && problem != nil {
		plan.Problem, plan.TellsProblem = problem, true
	}
	return plan
}

// isUndecided reports whether it is not known what a copy tells: where the object goes, or
// what the provider allows, is not known; or another copy is the one that counts.
func (s Snapshot[T]) isUndecided() bool {
	another := func(site Site[T]) bool { return site.Wanted }
	return s.Wanted && !s.Place.Open && !s.Place.Leaving || s.Limits == nil || s.Limits.Unknown != nil && !s.Place.Leaving ||
		!s.Wanted && slices.ContainsFunc(s.Sites, another)
}

// notice adds to a plan that writes the copy what the owner should know of it.
func (m mapped[T]) notice(s Snapshot[T], desired T, plan Plan) Plan {
	noticing, ok := m.Translation.(Noticing[T])
	if ok && len(plan.Actions) > 0 && plan.Actions[0].Verb != Delete {
		plan.Event = noticing.Notice(s.Local, desired, s.around())
	}
	return plan
}

// Lacking returns the plan that tells the owner of an object in a mapped namespace why it is
// not sent: objects of its kind cannot be read in the provider. title is what messages call
// the kind.
func Lacking[T Object](s Subject[T], syncer Syncer[T], title string, lack connection.Lack) Plan {
	if !Present(s.Local) {
		return Plan{}
	}
	if of, ok := syncer.(mapped[T]); ok {
		if goes, _ := of.goes(s.At(0)); !goes {
			return Plan{}
		}
	}
	problem := unreadable(title, s.Key, s.ClusterID, lack)
	return tell(Plan{Problem: &problem})
}

// tell makes the plan's problem an event on the object.
func tell(plan Plan) Plan {
	plan.TellsProblem = plan.Problem != nil
	return plan
}
