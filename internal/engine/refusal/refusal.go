// Package refusal handles requests that API servers refuse, for the objects of one kind. It creates the events,
// and decides when to retry.
package refusal

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/memory"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// Refusals handles the refused requests of one kind in one connection.
type Refusals[T client.Object] struct {
	Kind   *kind.Kind[T]
	Memory *memory.Refusals
	Events events.EventRecorder
	// Reported remembers the events on the objects, also those of earlier connections. It is nil for kinds that
	// other objects wait for.
	Reported *memory.Reported
}

// Recall adds to an ObjectState which of its requests were refused.
func (r *Refusals[T]) Recall(s *decide.ObjectState[T]) {
	v := Version(s.Local)
	for i := range s.RemoteStates {
		site := &s.RemoteStates[i]
		if site.Refused = r.Memory.Of(s.Key, v, r.in(site.Destination)); site.Refused == nil {
			site.Refused = r.Memory.Of(s.Key, v, "") // Of the protection, which is for all destinations.
		}
	}
}

// in returns the namespace that distinguishes the refusals of copies. It is empty for a pod, which has one
// destination, and for a volume, which has no namespace.
func (r *Refusals[T]) in(place decide.Destination) string {
	if !r.Kind.Selection.Copies() {
		return ""
	}
	return r.Kind.RemoteName(place.Target, types.NamespacedName{Namespace: place.Local, Name: "x"}).Namespace
}

// In returns the provider's namespace for an action on a copy.
func (r *Refusals[T]) In(a decide.Action) string {
	if !r.Kind.Selection.Copies() || a.Side == decide.Local {
		return ""
	}
	return a.Object.GetNamespace()
}

// Note remembers a refused action. If the action changes or deletes a copy, an event on the local object
// informs its owner: the pods that use the copy may run, and report nothing more. A refused creation is
// reported by the pods that wait for it, if any.
func (r *Refusals[T]) Note(s decide.ObjectState[T], a decide.Action, problem field.Problem) {
	refused := decide.Refused{Verb: a.Verb, Subresource: a.Subresource, In: r.In(a), Problem: problem}
	isNews := r.Memory.Note(s.Key, Version(s.Local), refused)
	if !r.Kind.Selection.Copies() || a.Verb == decide.Create && r.Kind.Selection == kind.Referenced {
		return
	}
	if !isNews && (r.Reported == nil || !r.Reported.Problems.Due(s.Key, s.Now)) {
		return
	}
	if r.Reported != nil && !r.Reported.Problems.Note(s.Key, &problem, s.Now) {
		return
	}
	r.Events.Eventf(s.Local, nil, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
}

// Postpone drops refused actions from a plan until they may be retried: deletions of copies, and what copies
// report to the consumer.
func (r *Refusals[T]) Postpone(s decide.ObjectState[T], plan decide.Plan) decide.Plan {
	if !r.Kind.Selection.Copies() || !decide.Present(s.Local) {
		return plan
	}
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a decide.Action) bool {
		if a.Verb != decide.PatchStatus && (a.Verb != decide.Delete || a.Side != decide.Remote) {
			return false
		}
		refused := r.Memory.Of(s.Key, Version(s.Local), r.In(a))
		if refused == nil || refused.Verb != a.Verb || refused.Wait <= 0 {
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

// Any reports whether an API server has refused a request for a copy.
func (r *Refusals[T]) Any() bool { return r.Kind.Selection.Copies() && r.Memory.Any() }

// Outdated says why a copy in a namespace of the provider is missing or differs from its object. It returns nil
// if the copy is up to date.
func (r *Refusals[T]) Outdated(key types.NamespacedName, in string) *field.Problem {
	refused := r.Memory.OfCopy(key, in)
	if refused == nil {
		return nil
	}
	problem := refused.Problem.Of(r.Kind.Title(), key)
	if refused.Verb == decide.Create {
		problem.Message = "without a dependency that cannot be sent: " + problem.Message
	} else {
		problem.Message = "with an outdated dependency: " + problem.Message
	}
	return &problem
}

// Version changes when a user changes an object. It is the generation, if there is one. A pod's resourceVersion
// would not do: it changes with each status that Spillway writes.
func Version(obj client.Object) string {
	if generation := obj.GetGeneration(); generation != 0 {
		return string(obj.GetUID()) + "/" + strconv.FormatInt(generation, 10) // Each object begins with generation 1.
	}
	return obj.GetResourceVersion()
}
