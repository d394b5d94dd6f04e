// Package plan drops actions from a decision that have no effect, exceed the budget, or must wait.
package plan

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/memory"
	"github.com/spillway-io/spillway/internal/engine/refusal"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// Planner plans for one kind in one connection.
type Planner[T client.Object] struct {
	Kind *kind.Kind[T]
	// Binding is the ClusterBinding's name. ClusterID is its spec.clusterID.
	Binding, ClusterID string
	Memory             *memory.Memory
	Refusals           *refusal.Refusals[T]
	// Exceeds says what would exceed the provider's budget if after replaced before, which may be nil. It
	// returns "" if nothing would.
	Exceeds func(before, after client.Object) string
	// Count returns how many objects of the kind the provider has for a local namespace. Kinds with Most need
	// it.
	Count func(namespace string) int
}

// mostRefusals is the most actions that one plan for an object may refuse itself: one for each copy. If there
// are more, a decision is wrong.
const mostRefusals = 8

// reportAfter is the number of repetitions of an action after which an event tells the object's owner that
// somebody reverts it.
const reportAfter = 2

// Plan returns what to do about an object. It does not repeat a write that an API server accepted without
// making the change:
//
//   - A mutating policy or webhook in the provider reverts a change. Plan treats this as a
//     refusal: it reports it, and retries later.
//   - The consumer does not keep a field of a status, mostly because it lacks a feature that
//     the provider has. Plan leaves the field alone until one of the two pods changes.
//
// made is what the reconcile has already done.
func (p *Planner[T]) Plan(s decide.ObjectState[T], made []decide.AppliedAction) decide.Plan {
	return decide.WithContent(s, p.effective(s, made))
}

func (p *Planner[T]) effective(s decide.ObjectState[T], made []decide.AppliedAction) decide.Plan {
	plan := p.afforded(&s)
	for _, a := range plan.Actions {
		switch {
		case !slices.ContainsFunc(made, func(before decide.AppliedAction) bool { return isRepeated(a, before) }):
		case a.Verb == decide.PatchStatus:
			p.Memory.Change(s.Key, func(r *memory.Record) { r.DroppedStatus = decide.AppliedAction{Action: a, Response: a.Before} })
		case a.Side == decide.Remote && decide.Present(s.Local):
			p.Refusals.Note(s, a, problemOfDropped(a, p.ClusterID))
			p.Refusals.Recall(&s)
			return p.due(s, p.afforded(&s))
		}
	}
	unkept := p.Memory.Get(s.Key).DroppedStatus
	plan.Actions = slices.DeleteFunc(plan.Actions, func(a decide.Action) bool { return isRepeated(a, unkept) })
	return p.due(s, plan)
}

// afforded returns what to do within the budget. It treats an action that exceeds the budget like one that an
// API server refuses: it reports it, and retries later.
func (p *Planner[T]) afforded(s *decide.ObjectState[T]) decide.Plan {
	plan := decide.Next(*s, p.Kind.Syncer)
	for range mostRefusals { // Other copies may exceed the budget, too.
		i := slices.IndexFunc(plan.Actions, func(a decide.Action) bool { return p.tooMuch(*s, a) != nil })
		if i < 0 {
			return plan
		}
		p.Refusals.Note(*s, plan.Actions[i], *p.tooMuch(*s, plan.Actions[i]))
		p.Refusals.Recall(s)
		plan = decide.Next(*s, p.Kind.Syncer)
	}
	return decide.Plan{Problem: plan.Problem, RetryAfter: memory.FirstRetry}
}

// tooMuch says why an action exceeds what may be sent. It returns nil if it does not.
func (p *Planner[T]) tooMuch(s decide.ObjectState[T], a decide.Action) *field.Problem {
	if a.Side != decide.Remote || a.Verb != decide.Create && a.Verb != decide.Patch || !decide.Present(s.Local) {
		return nil
	}
	if refusal := field.MetadataTooLarge(s.Local, s.Limits); p.Kind.Selection.Copies() && refusal != nil {
		return refusal
	}
	if count := p.tooMany(s, a); count > 0 {
		problem := field.Problemf(v1alpha1.ReasonOverBudget, "%s is not sent to provider %s: namespace %s has %d of its kind there, and the limit for a namespace is %d; delete those that are no longer needed",
			client.ObjectKeyFromObject(a.Object), p.ClusterID, s.Key.Namespace, count, p.Kind.Most)
		return &problem
	}
	if p.Exceeds == nil {
		return nil
	}
	if shortage := p.Exceeds(a.Before, a.Object); shortage != "" {
		problem := field.Problemf(v1alpha1.ReasonOverBudget,
			"%s is not sent to provider %s: %s; delete what is no longer needed, or ask for a larger spec.budget of ClusterBinding %s",
			client.ObjectKeyFromObject(a.Object), p.ClusterID, shortage, p.Binding)
		return &problem
	}
	return nil
}

// tooMany returns how many objects of the local namespace the provider has, if it may have no more. Otherwise,
// it returns 0.
func (p *Planner[T]) tooMany(s decide.ObjectState[T], a decide.Action) int {
	if p.Kind.Most == 0 || a.Verb != decide.Create {
		return 0
	}
	if count := p.Count(s.Key.Namespace); count >= p.Kind.Most {
		return count
	}
	return 0
}

// due returns the part of a plan that may run now.
func (p *Planner[T]) due(s decide.ObjectState[T], plan decide.Plan) decide.Plan {
	plan = paced(p.limitReverted(s, p.Refusals.Postpone(s, plan)), p.Memory.Statuses.Wait(s.Key), isPaced)
	if p.Kind.Paced && decide.Present(s.Local) {
		plan = paced(plan, p.Memory.Copies.Wait(s.Key), func(a decide.Action) bool { return a.Side == decide.Remote })
	}
	return p.settled(s, plan)
}

// settled drops changes of copies that are too recent. The returned problem holds, for memory, the time since
// when this change has been due.
func (p *Planner[T]) settled(s decide.ObjectState[T], plan decide.Plan) decide.Plan {
	isChange := func(a decide.Action) bool { return a.Side == decide.Remote && a.Verb == decide.Patch }
	i := slices.IndexFunc(plan.Actions, isChange)
	if p.Kind.Settles == nil || i < 0 {
		return plan
	}
	before, _ := plan.Actions[i].Before.(T)
	after, _ := plan.Actions[i].Object.(T)
	change, left := p.Kind.Settles(before, after)
	reason := "Settling" + change
	if s.WaitingFor == reason {
		left -= s.Waiting
	}
	if left <= 0 {
		return plan
	}
	plan = paced(plan, left, isChange)
	plan.Problem = &field.Problem{Reason: reason, Message: "the remote object is updated once the change has lasted a while"}
	return plan
}

// limitReverted drops actions that somebody has reverted several times, until they may be repeated. One event
// informs the owner of the object.
func (p *Planner[T]) limitReverted(s decide.ObjectState[T], plan decide.Plan) decide.Plan {
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a decide.Action) bool {
		wait, times := p.Memory.Reverted.Wait(s.Key, a)
		if wait > 0 {
			plan.RetryAfter = retry.Sooner(plan.RetryAfter, wait)
		} else if times == reportAfter {
			problem := problemOfReverted(a, p.ClusterID)
			plan.Event = &problem
		}
		return wait > 0
	})
	return plan
}

// paced drops the actions that must wait, and sets RetryAfter. The next plan reads the objects again, so it
// sends their latest state.
func paced(plan decide.Plan, wait time.Duration, may func(decide.Action) bool) decide.Plan {
	if wait == 0 || !slices.ContainsFunc(plan.Actions, may) {
		return plan
	}
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), may)
	plan.Event = nil // It is about the dropped write.
	plan.RetryAfter = retry.Sooner(plan.RetryAfter, wait)
	return plan
}

func isPaced(a decide.Action) bool { return a.Paced }
