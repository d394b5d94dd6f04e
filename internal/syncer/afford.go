package syncer

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/syncer/memory"
	"github.com/spillway-io/spillway/internal/translate"
)

// afforded is what to do, without what would make the provider hold more than may be
// sent to it. That is refused before it is sent, and told and tried again as what an
// API server has refused: nothing but the end of other objects makes room.
func (c *kindController[T]) afforded(s *decide.Snapshot[T]) decide.Plan {
	plan := decide.Next(*s, c.Syncer)
	for range rounds { // Each refusal may leave others, of other copies.
		i := slices.IndexFunc(plan.Actions, func(a decide.Action) bool { return c.tooMuch(*s, a) != nil })
		if i < 0 {
			return plan
		}
		c.refuse(*s, plan.Actions[i], *c.tooMuch(*s, plan.Actions[i]))
		c.observeRefusals(s)
		plan = decide.Next(*s, c.Syncer)
	}
	return decide.Plan{Problem: plan.Problem, RetryAfter: memory.FirstRetry}
}

// tooMuch is why an action makes more of a local object than may be sent, or nil.
func (c *kindController[T]) tooMuch(s decide.Snapshot[T], a decide.Action) *decide.Problem {
	if a.Side != decide.Remote || a.Verb != decide.Create && a.Verb != decide.Patch || !decide.Present(s.Local) {
		return nil
	}
	if refusal := translate.MetadataTooLarge(s.Local); c.Copied && refusal != nil {
		return &decide.Problem{Reason: refusal.Reason, Message: refusal.Message}
	}
	if c.exceeds == nil {
		return nil
	}
	if shortage := c.exceeds(a.Before, a.Object); shortage != "" {
		problem := decide.Problemf(v1alpha1.ReasonOverBudget,
			"%s is not sent to provider %s: %s; delete what is not needed any more, or ask for a larger spec.budget of ClusterBinding %s",
			client.ObjectKeyFromObject(a.Object), c.clusterID, shortage, c.binding)
		return &problem
	}
	return nil
}
