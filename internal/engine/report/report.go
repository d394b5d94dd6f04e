// Package report tells the owners of objects what they should know, in events.
package report

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// Reporter creates the events on the objects of one kind in one connection.
type Reporter[T client.Object] struct {
	Kind     *kind.Kind[T]
	Attempts *attempts.Attempts
	// Reported remembers the events of this connection and of earlier ones. It is nil for kinds that other
	// objects wait for.
	Reported *attempts.Reported
	Events   events.EventRecorder
}

// Refused remembers a refused request. If the request was to change or delete a copy, an event on the local
// object informs its owner: the pods that use the copy may run, and report nothing more. A refused creation is
// reported by the pods that wait for it, if any.
func (r *Reporter[T]) Refused(s decide.ObjectState[T], refused decide.Refused) {
	isNew := r.Attempts.Refuse(s.Key, attempts.Version(s.Local), refused)
	if !r.Kind.Selection.Copies() || refused.Verb == decide.Create && r.Kind.Selection == kind.Referenced {
		return
	}
	if r.Reported == nil {
		if isNew {
			r.event(s, refused.Problem)
		}
		return
	}
	if (isNew || r.Reported.IsOld(s.Key, s.Now)) && r.Reported.DueOfRefusal(s.Key, refused.Problem, s.Now) {
		r.event(s, refused.Problem)
	}
}

// Problem creates an event for the problem of a plan without actions, if the plan asks for one and no recent
// event said the same. It returns when to create the next one. It also creates the event of such a plan.
func (r *Reporter[T]) Problem(s decide.ObjectState[T], plan decide.Plan) time.Duration {
	if plan.Event != nil && len(plan.Actions) == 0 && r.Reported != nil {
		r.tell(s, attempts.Notice, plan.Event)
	}
	switch {
	case r.Reported == nil:
	case !decide.Present(s.Local) || !s.RemoteStates[0].Wanted: // Teams may create and delete as many as they want.
		r.Reported.Forget(s.Key)
	case plan.Problem == nil:
		r.Reported.Clear(s.Key, attempts.Problem)
	case plan.TellsProblem:
		if tooMany := r.tell(s, attempts.Problem, plan.Problem); tooMany > 0 {
			return tooMany
		}
		return wait.Jitter(attempts.RepeatEvent, 0.5)
	}
	return 0
}

// Written creates the event of a plan after its actions, unless an earlier event said the same. If the actions
// only wrote a status, the last event about the copy stays valid.
func (r *Reporter[T]) Written(s decide.ObjectState[T], plan decide.Plan) {
	isStatus := !slices.ContainsFunc(plan.Actions, func(a decide.Action) bool { return a.Side == decide.Remote })
	if plan.Event != nil || !isStatus {
		r.tell(s, attempts.Notice, plan.Event)
	}
}

// tell creates an event on the local object, unless the object is gone, or an earlier event said the same. If
// the object has had too many events, tell creates none, and returns how long the next one must wait.
func (r *Reporter[T]) tell(s decide.ObjectState[T], topic attempts.Topic, event *field.Problem) (tooMany time.Duration) {
	due := event != nil
	if r.Reported != nil {
		due, tooMany = r.Reported.Due(s.Key, topic, event, s.Now)
	}
	if due && decide.Present(s.Local) {
		r.event(s, *event)
	}
	return tooMany
}

func (r *Reporter[T]) event(s decide.ObjectState[T], problem field.Problem) {
	r.Events.Eventf(s.Local, nil, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
}

// AnyRefused reports whether an API server has refused a request for a copy.
func (r *Reporter[T]) AnyRefused() bool { return r.Kind.Selection.Copies() && r.Attempts.AnyRefused() }

// Outdated says why a copy in a namespace of the provider is missing or differs from its object. It returns nil
// if the copy is up to date.
func (r *Reporter[T]) Outdated(key types.NamespacedName, in string) *field.Problem {
	refused := r.Attempts.Get(key).Refusals.OfCopy(in)
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
