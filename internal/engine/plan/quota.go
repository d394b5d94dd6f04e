package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Quota gives objects room in the provider.
type Quota interface {
	// Ask gives room to an object that can be sent otherwise, or returns why there is none. The object is enqueued
	// once there is.
	Ask(local client.Object) *field.Problem
	// Forget forgets an object that is gone.
	Forget(local types.NamespacedName)
	// Withdraw takes back what an object got that is not sent for another reason.
	Withdraw(local client.Object)
}

// withinQuota returns the plan, or, if spec.quota has no room for the object that it creates, one that reports that. An
// object whose creation was not answered may exist, and keeps its room.
func (p *planning[T]) withinQuota(plan decide.Plan) decide.Plan {
	if p.Quota != nil && !decide.Present(p.s.Local) {
		p.Quota.Forget(p.s.Key) // It may have asked although its deletion was known.
	}
	if p.Quota == nil || !decide.Present(p.s.Local) || decide.Present(p.s.RemoteStates[0].Remote) {
		return plan
	}
	creates := slices.ContainsFunc(plan.Actions, func(a decide.Action) bool { return a.Side == decide.Remote && a.Verb == decide.Create })
	if !creates && !p.s.Unanswered {
		p.Quota.Withdraw(p.s.Local)
	}
	if !creates {
		return plan
	}
	if problem := p.Quota.Ask(p.s.Local); problem != nil {
		return p.Kind.Syncer.Wait(p.s.At(0), *problem)
	}
	return plan
}
