// Package plan drops actions from a decision that have no effect, exceed the budget, or must wait.
package plan

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// Planner plans for one kind in one connection.
type Planner[T client.Object] struct {
	Kind *kind.Kind[T]
	// Binding is the ClusterBinding's name. ClusterID is its spec.clusterID.
	Binding, ClusterID string
	// Exceeds says what would exceed the provider's budget if after replaced before, which may be nil. It
	// returns "" if nothing would.
	Exceeds func(before, after client.Object) string
	// Count returns how many objects of the kind the provider has for a local namespace. Kinds with Most need
	// it.
	Count func(namespace string) int
	// Quota, if set, knows spec.quota of the ClusterBinding.
	Quota Quota
}

// Result is a Plan, and what must be remembered before it is carried out.
type Result struct {
	decide.Plan
	// Refused are requests that are not sent, and count as refused.
	Refused []decide.Refused
	// Dropped is a change of the status that the consumer does not keep; nil if there is none.
	Dropped *decide.AppliedAction
}

// mostRefusals is the most actions that one plan for an object may refuse itself: one for each copy. If there
// are more, a decision is wrong.
const mostRefusals = 8

// reportAfter is the number of repetitions of an action after which an event tells the object's owner that
// somebody reverts it.
const reportAfter = 2

// Plan returns what to do about an object. record is what is remembered about it, and made is what the
// reconcile has already done. Plan does not repeat a write that an API server accepted without making the
// change:
//
//   - A mutating policy or webhook in the provider reverts a change. Plan treats this as a
//     refusal: it reports it, and retries later.
//   - The consumer does not keep a field of a status, mostly because it lacks a feature that
//     the provider has. Plan leaves the field alone until one of the two pods changes.
func (p *Planner[T]) Plan(s decide.ObjectState[T], record attempts.Record, made []decide.AppliedAction) Result {
	run := planning[T]{Planner: p, s: s, record: record}
	plan := run.due(run.withinQuota(run.effective(made)))
	run.result.Plan = decide.WithContent(run.s, plan)
	return run.result
}

// planning is one call of Plan. Its record gets what the plan refuses.
type planning[T client.Object] struct {
	*Planner[T]
	s      decide.ObjectState[T]
	record attempts.Record
	result Result
}

// effective returns what to do about the object, without what had no effect before.
func (p *planning[T]) effective(made []decide.AppliedAction) decide.Plan {
	plan := p.afforded()
	for _, a := range plan.Actions {
		switch {
		case !slices.ContainsFunc(made, func(before decide.AppliedAction) bool { return isRepeated(a, before) }):
		case a.Verb == decide.PatchStatus:
			p.result.Dropped = &decide.AppliedAction{Action: a, Response: a.Before}
			p.record.DroppedStatus = p.result.Dropped
		case a.Side == decide.Remote && decide.Present(p.s.Local):
			p.refuse(a, problemOfDropped(a, p.ClusterID))
			return p.afforded()
		}
	}
	if dropped := p.record.DroppedStatus; dropped != nil {
		plan.Actions = slices.DeleteFunc(plan.Actions, func(a decide.Action) bool { return isRepeated(a, *dropped) })
	}
	return plan
}

// afforded returns what to do within the budget. It treats an action that exceeds the budget like one that an
// API server refuses: it reports it, and retries later.
func (p *planning[T]) afforded() decide.Plan {
	plan := decide.Next(p.s, p.Kind.Syncer)
	for range mostRefusals { // Other copies may exceed the budget, too.
		i := slices.IndexFunc(plan.Actions, func(a decide.Action) bool { return p.tooMuch(p.s, a) != nil })
		if i < 0 {
			return plan
		}
		p.refuse(plan.Actions[i], *p.tooMuch(p.s, plan.Actions[i]))
		plan = decide.Next(p.s, p.Kind.Syncer)
	}
	return decide.Plan{Problem: plan.Problem, RetryAfter: attempts.FirstRetry}
}

// refuse makes an action count as refused.
func (p *planning[T]) refuse(a decide.Action, problem field.Problem) {
	refused := decide.Refused{Verb: a.Verb, Subresource: a.Subresource, In: p.Kind.CopyNamespaceOf(a), Problem: problem}
	p.result.Refused = append(p.result.Refused, refused)
	p.record.Refusals.Add(attempts.Version(p.s.Local), refused, p.s.Now)
	p.s.RemoteStates = slices.Clone(p.s.RemoteStates)
	attempts.Recall(&p.s, p.Kind, p.record.Refusals)
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
func (p *planning[T]) due(plan decide.Plan) decide.Plan {
	plan = p.limitReverted(p.postpone(plan))
	plan = paced(plan, attempts.Statuses.Wait(p.record.StatusesUsed, p.s.Now), isPaced)
	if p.Kind.Paced && decide.Present(p.s.Local) {
		plan = paced(plan, attempts.Copies.Wait(p.record.CopiesUsed, p.s.Now), func(a decide.Action) bool { return a.Side == decide.Remote })
	}
	return p.settled(plan)
}

// postpone drops refused actions until they may be retried: deletions of copies, and what copies report to the
// consumer.
func (p *planning[T]) postpone(plan decide.Plan) decide.Plan {
	if !p.Kind.Selection.Copies() || !decide.Present(p.s.Local) {
		return plan
	}
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a decide.Action) bool {
		if a.Verb != decide.PatchStatus && (a.Verb != decide.Delete || a.Side != decide.Remote) {
			return false
		}
		refused := p.record.Refusals.Of(attempts.Version(p.s.Local), p.Kind.CopyNamespaceOf(a), p.s.Now)
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

// settled drops changes of copies that are too recent. The returned problem names the change, so the Record of the
// object has the time since when this change has been due.
func (p *planning[T]) settled(plan decide.Plan) decide.Plan {
	isChange := func(a decide.Action) bool { return a.Side == decide.Remote && a.Verb == decide.Patch }
	i := slices.IndexFunc(plan.Actions, isChange)
	if p.Kind.Settles == nil || i < 0 {
		return plan
	}
	before, _ := plan.Actions[i].Before.(T)
	after, _ := plan.Actions[i].Object.(T)
	change, left := p.Kind.Settles(before, after)
	reason := "Settling" + change
	if p.s.WaitingFor == reason {
		left -= p.s.Waiting
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
func (p *planning[T]) limitReverted(plan decide.Plan) decide.Plan {
	plan.Actions = slices.DeleteFunc(slices.Clone(plan.Actions), func(a decide.Action) bool {
		wait, times := p.record.Writes.Wait(a, p.s.Now)
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
