package syncer

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// afforded is what to do, without what would make the provider hold more than may be
// sent to it. That is refused before it is sent, and told and tried again as what an
// API server has refused: nothing but the end of other objects makes room.
func (c *kindController[T]) afforded(s *Snapshot[T]) Plan {
	plan := Decide(*s, c.Syncer)
	for range rounds { // Each refusal may leave others, of other copies.
		i := slices.IndexFunc(plan.Actions, func(a Action) bool { return c.shortage(a) != "" })
		if i < 0 || !present(s.Local) {
			return plan
		}
		a := plan.Actions[i]
		c.refuse(*s, a, Problem{v1alpha1.ReasonOverBudget, fmt.Sprintf(
			"%s is not sent to provider %s: %s; delete what is not needed any more, or ask for a larger spec.budget of ClusterBinding %s",
			client.ObjectKeyFromObject(a.Object), c.clusterID, c.shortage(a), c.binding)})
		c.observeRefusals(s)
		plan = Decide(*s, c.Syncer)
	}
	return Plan{Problem: plan.Problem, RetryAfter: firstRetry}
}

// shortage says what there would be too much of, or "".
func (c *kindController[T]) shortage(a Action) string {
	if a.Side != Remote || a.Verb != Create && a.Verb != Patch || c.exceeds == nil {
		return ""
	}
	return c.exceeds(a.Before, a.Object)
}
