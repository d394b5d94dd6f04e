// Package refusal is what API servers have refused to do about the objects of one
// kind: who is told of it, when it is tried again, and what waits until then.
package refusal

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/syncer/memory"
)

// Refusals are those of one kind in one connection.
type Refusals[T client.Object] struct {
	Kind   *kind.Kind[T]
	Memory *memory.Refusals
	Events events.EventRecorder
	// Told is what the owners have been told, in earlier connections too; nil for kinds that
	// something waits for.
	Told *memory.Told
}

// Recall puts into a snapshot what was refused of its object.
func (r *Refusals[T]) Recall(s *decide.Snapshot[T]) {
	v := Version(s.Local)
	of := func(place decide.Place) *decide.Refused {
		if refused := r.Memory.Of(s.Key, v, r.in(place)); refused != nil {
			return refused
		}
		return r.Memory.Of(s.Key, v, "") // Of the pin, which is for all places.
	}
	s.Refused = of(s.Place)
	for i := range s.Sites {
		s.Sites[i].Refused = of(s.Sites[i].Place)
	}
}

// in is the namespace by which refusals of copies are told apart: a pod is in one
// place, and a volume in none.
func (r *Refusals[T]) in(place decide.Place) string {
	if !r.Kind.Selection.Copies() {
		return ""
	}
	return r.Kind.RemoteName(place.Target, types.NamespacedName{Namespace: place.Local, Name: "x"}).Namespace
}

// In is the namespace of the provider that an action on a copy is about.
func (r *Refusals[T]) In(a decide.Action) string {
	if !r.Kind.Selection.Copies() || a.Side == decide.Local {
		return ""
	}
	return a.Object.GetNamespace()
}

// Note remembers what an API server has refused. Of a change or a deletion of a copy
// its owner is notified at once, on the object itself: what needs it may run, and ask
// for nothing any more. A creation is shown by what waits for it, if anything does.
func (r *Refusals[T]) Note(s decide.Snapshot[T], a decide.Action, problem decide.Problem) {
	refused := decide.Refused{Verb: a.Verb, Subresource: a.Subresource, In: r.In(a), Problem: problem}
	if isNews := r.Memory.Note(s.Key, Version(s.Local), refused); !isNews || !r.Kind.Selection.Copies() || a.Verb == decide.Create && r.Kind.Selection == kind.Referenced {
		return
	}
	if r.Told != nil && !r.Told.Problems.Change(s.Key, &problem) {
		return
	}
	r.Events.Eventf(s.Local, nil, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
}

// Postpone leaves out of a plan the deletions of copies that were refused, until
// they may be tried again.
func (r *Refusals[T]) Postpone(s decide.Snapshot[T], plan decide.Plan) decide.Plan {
	if !r.Kind.Selection.Copies() || !decide.Present(s.Local) {
		return plan
	}
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a decide.Action) bool {
		refused := r.Memory.Of(s.Key, Version(s.Local), r.In(a))
		if a.Verb != decide.Delete || a.Side != decide.Remote || refused == nil || refused.Verb != decide.Delete || refused.Wait <= 0 {
			return false
		}
		plan.RetryAfter = retry.Sooner(plan.RetryAfter, refused.Wait)
		if plan.Problem == nil {
			plan.Problem = &refused.Problem
		}
		return true
	})
	return plan
}

// Any reports whether anything of a copy is refused.
func (r *Refusals[T]) Any() bool { return r.Kind.Selection.Copies() && r.Memory.Any() }

// Outdated is why a copy in a namespace of the provider is not as the object is, or is not
// there, or nil.
func (r *Refusals[T]) Outdated(key types.NamespacedName, in string) *decide.Problem {
	refused := r.Memory.OfCopy(key, in)
	if refused == nil {
		return nil
	}
	problem := refused.Problem.Of(r.Kind.Title(), key)
	if refused.Verb == decide.Create {
		problem.Message = "without what cannot be sent: " + problem.Message
	} else {
		problem.Message = "with an older state of what it uses: " + problem.Message
	}
	return &problem
}

// Version changes when what a user says about an object does. The generation of
// a pod does; its resourceVersion changes with every status that we write.
func Version(obj client.Object) string {
	if generation := obj.GetGeneration(); generation != 0 {
		return string(obj.GetUID()) + "/" + strconv.FormatInt(generation, 10) // Each object begins with the first.
	}
	return obj.GetResourceVersion()
}
