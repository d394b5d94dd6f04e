package decide

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Holding is a Translation of a kind whose remote objects may hold data that exists nowhere else, such as claims
// whose volumes are created in the provider. Such an object is no copy. It is deleted only if its Fate says so,
// whatever the namespaces, the classes, the pods and the caches say.
type Holding[T Object] interface {
	// Holds reports whether a remote object holds data, or may come to hold some. It is pure.
	Holds(remote T) bool
	// Follow returns remote with the later changes of local, and why it cannot be used, or does not follow. It is
	// pure.
	Follow(local, remote T, around Inputs) (followed T, problem *field.Problem)
	// Fate says what becomes of a remote object whose local object is being deleted, does not use it, or is gone: then
	// local is nil. It is pure.
	Fate(local, remote T, around Inputs) Fate
}

// Sparing is a Translation of a kind some of whose local objects belong to another controller.
type Sparing[T Object] interface {
	// Spares reports whether an object belongs to another controller. The object may have only its metadata. It is
	// pure.
	Spares(local T, clusterID string) bool
}

// Fate is what becomes of a remote object that holds data.
type Fate struct {
	// Deleted reports that the owner of the data has given it up, or that there is none. Confirms are the objects of the
	// consumer that say so (Action.Confirms).
	Deleted  bool
	Confirms []Object
	// KeptFor is the object in the consumer that says that the data is kept. It is noted on the remote object.
	KeptFor string
	// Released reports that the local object need not wait for the remote one.
	Released bool
	// Elsewhere reports that the local object is bound to something else, and does not come back.
	Elsewhere bool
}

// holding returns the Translation of a kind whose remote objects may hold data, or nil.
func (c copies[T]) holding() Holding[T] {
	holding, _ := c.Translation.(Holding[T])
	return holding
}

func (c copies[T]) holds(remote T) bool {
	holding := c.holding()
	return holding != nil && Present(remote) && holding.Holds(remote)
}

// SyncToLocal deletes a copy that has lost its local object. What holds data has its own fate: a local object may be
// missing because the consumer was restored from a backup.
func (c copies[T]) SyncToLocal(s Snapshot[T]) Plan {
	if c.holds(s.Remote) {
		return c.endHeld(s, []T{s.Remote})
	}
	return c.FromConsumer.SyncToLocal(s)
}

// endHeld ends remote objects that hold data and whose local objects are gone.
func (c copies[T]) endHeld(s Snapshot[T], held []T) Plan {
	var plan Plan
	var none T
	for _, remote := range held {
		switch fate := c.holding().Fate(none, remote, s.inputs()); {
		case fate.Deleted:
			plan.Actions = append(plan.Actions, giveUp(remote, fate)...)
		case fate.KeptFor != "" && remote.GetAnnotations()[v1alpha1.AnnotationKeptFor] != fate.KeptFor:
			kept, _ := remote.DeepCopyObject().(T)
			kept.SetAnnotations(With(kept.GetAnnotations(), v1alpha1.AnnotationKeptFor, fate.KeptFor))
			plan.Actions = append(plan.Actions, Action{Verb: Patch, Side: Remote, Object: kept, Before: remote, Locked: true})
		}
	}
	return plan
}

// giveUp deletes a remote object that holds data, as it was read, unless it is being deleted already. Data cannot be
// restored, so the consumer's API server is asked before.
func giveUp[T Object](remote T, fate Fate) []Action {
	actions := cleanUp([]T{remote})
	for i := range actions {
		actions[i].Locked, actions[i].Confirms = true, fate.Confirms
	}
	return actions
}

// syncHeld decides about a remote object that holds data and its local object.
func (c copies[T]) syncHeld(s Snapshot[T]) Plan {
	switch {
	case !s.Local.GetDeletionTimestamp().IsZero():
		fate := c.holding().Fate(s.Local, s.Remote, s.inputs())
		switch {
		case !s.Known:
			return Plan{}
		case fate.Deleted:
			return act(giveUp(s.Remote, fate)...)
		case fate.Released:
			return c.unprotect(s)
		default:
			return Plan{}
		}
	case !s.Remote.GetDeletionTimestamp().IsZero():
		return withProblemEvent(wait(field.Problemf(v1alpha1.ReasonVolumeLost,
			"%s in provider %s is being deleted there, with its data", KeyOf(s.Remote), s.ClusterID)))
	case isUnused(c, s) && s.Known:
		return c.unprotect(s)
	case isUnused(c, s): // Without protection, only its metadata is known.
		return Plan{}
	case !c.isProtected(s): // So that the consumer does not delete it unnoticed.
		return c.protect(s)
	case !s.Known:
		return Plan{}
	}
	if fate := c.holding().Fate(s.Local, s.Remote, s.inputs()); fate.Deleted {
		return act(giveUp(s.Remote, fate)...)
	}
	followed, problem := c.holding().Follow(s.Local, s.Remote, s.inputs())
	if problem != nil {
		plan := wait(*problem)
		plan.TellsProblem = problem.Reason != field.ReasonClaimNotBound // Kubernetes binds it in a moment, or says why not.
		return plan
	}
	plan := correct(following[T]{c.Translation, followed}, s, s.Remote)
	if noticing, ok := c.Translation.(Noticing[T]); ok {
		plan.Event = noticing.Notice(s.Local, followed, s.inputs())
	}
	return plan
}

// isUnused reports whether a local object is bound to something else than the remote one, and nothing needs a copy of
// it. Then its protection has no use, and would hold up the end of the binding: only the provider's administrator
// deletes such a remote object.
func isUnused[T Object](c copies[T], s Snapshot[T]) bool {
	return !slices.ContainsFunc(s.RemoteStates, func(site RemoteState[T]) bool {
		return site.Wanted || Present(site.Remote) && !c.holds(site.Remote)
	}) && c.holding().Fate(s.Local, s.Remote, s.inputs()).Elsewhere
}

// following is a Translation whose merge is already known.
type following[T Object] struct {
	Translation[T]
	merged T
}

// Merge implements Translation.
func (f following[T]) Merge(_, _ T) (merged T, replace bool) { return f.merged, false }

// taken says why no remote object is created for a local one. Another place of the provider may have one that
// holds its data, or its name may belong to an older object whose data is kept. It returns nil if nothing is in
// the way.
func (c copies[T]) taken(s Snapshot[T]) *field.Problem {
	for _, site := range s.RemoteStates {
		if c.holds(site.Remote) {
			problem := field.Problemf(v1alpha1.ReasonVolumeLost, "its data is in %s of provider %s, and a second volume would be empty; offload the namespace as before",
				KeyOf(site.Remote), s.ClusterID)
			return &problem
		}
	}
	at := c.RemoteName(s.Destination.Target, s.Key)
	for _, remote := range s.Held {
		if KeyOf(remote) == at {
			problem := field.Problemf(v1alpha1.ReasonNameConflict, "%s in provider %s has the data of an older object of this name, with UID %s; "+
				"it is kept until somebody deletes it there", at, s.ClusterID, remote.GetAnnotations()[v1alpha1.AnnotationLocalUID])
			return &problem
		}
	}
	return nil
}
