package syncer

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/retry"
)

// refuse remembers what an API server has refused. Of a change or a deletion of a
// copy its owner is told at once, on the object itself: what needs it may run, and
// ask for nothing any more. A creation is told by what waits for it.
func (c *kindController[T]) refuse(s decide.Snapshot[T], a decide.Action, what decide.Problem) {
	refused := decide.Refused{Verb: a.Verb, Subresource: a.Subresource, In: c.namespaceOf(a), Problem: what}
	if isNews := c.memory.Refusals.Note(s.Key, version(s.Local), refused); !isNews || !c.Copied || a.Verb == decide.Create {
		return
	}
	c.events.Eventf(s.Local, nil, corev1.EventTypeWarning, what.Reason, "Offload", "%s", conditions.Note(what.Message))
}

// postponed leaves out of a plan the deletions of copies that were refused, until
// they may be tried again.
func (c *kindController[T]) postponed(s decide.Snapshot[T], plan decide.Plan) decide.Plan {
	if !c.Copied || !decide.Present(s.Local) {
		return plan
	}
	var due []decide.Action
	for _, a := range plan.Actions {
		refused := c.memory.Refusals.Of(s.Key, version(s.Local), c.namespaceOf(a))
		if a.Verb != decide.Delete || a.Side != decide.Remote || refused == nil || refused.Verb != decide.Delete || refused.Wait <= 0 {
			due = append(due, a)
			continue
		}
		plan.RetryAfter = retry.Sooner(plan.RetryAfter, refused.Wait)
		if plan.Problem == nil {
			plan.Problem = &refused.Problem
		}
	}
	plan.Actions = due
	return plan
}

// outdated implements attached.
func (c *kindController[T]) outdated(key types.NamespacedName, in string) *decide.Problem {
	refused := c.memory.Refusals.OfChange(key, in)
	if refused == nil {
		return nil
	}
	problem := refused.Problem.Of(c.title(), key)
	return &problem
}

// outdated is why an object that is in the provider, and needs these, finds an
// older state of one of them there, or nil.
func (p *pair) outdated(refs []decide.Ref, at decide.Place) *decide.Problem {
	for _, ref := range refs {
		kind, ok := p.kinds[ref.Kind]
		if !ok {
			continue
		}
		if problem := kind.outdated(ref.NamespacedName, p.near(at, ref.Namespace).Namespace); problem != nil {
			return problem
		}
	}
	return nil
}

// anyRefused implements attached.
func (c *kindController[T]) anyRefused() bool { return c.Copied && c.memory.Refusals.Any() }

// anyRefused reports whether anything is refused of any copy.
func (p *pair) anyRefused() bool {
	for _, kind := range p.kinds {
		if kind.anyRefused() {
			return true
		}
	}
	return false
}
