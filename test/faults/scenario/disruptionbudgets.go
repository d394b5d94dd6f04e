package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
)

// spare is the name of the PodDisruptionBudget.
const spare = "spare"

// Whatever happens to the manager, the copy requires the pods that are not healthy elsewhere.
var disruptionBudgetLife = Scenario{
	Name: "poddisruptionbudget-created-changed-deleted", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "a PodDisruptionBudget is created that wants two pods, of which one runs, in the provider",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: spare},
				Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(2)), Selector: &metav1.LabelSelector{}},
			})
		},
		Until: budgetWants(2, world.P1),
	}, {
		Name: "another one becomes Ready on a node of the consumer",
		Do: func(ctx context.Context, w *world.World) error {
			pod := world.Pod(team, second, "")
			pod.Spec.NodeName = "home"
			if err := w.Create(ctx, pod); err != nil {
				return err
			}
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			return w.Consumer.Admin.Status().Update(ctx, pod)
		},
		Until: budgetWants(1, world.P1),
	}, {
		Name:  "the budget is deleted",
		Do:    deleteLocal(&policyv1.PodDisruptionBudget{}, team, spare),
		Until: all(gone[policyv1.PodDisruptionBudget](world.Consumer, named(team, spare)), gone[policyv1.PodDisruptionBudget](world.P1, remotely(team, spare))),
	}},
}

// budgetWants wants the copy of the budget to require so many healthy pods in the provider, and the budget
// itself to be unchanged.
func budgetWants(pods int32, provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[policyv1.PodDisruptionBudget](ctx, w, world.Consumer, team, spare)
		if err != nil {
			return err
		}
		remote, err := get[policyv1.PodDisruptionBudget](ctx, w, provider, w.Remote(team), spare)
		if err != nil {
			return err
		}
		if err := unmarked[policyv1.PodDisruptionBudget](team, spare)(ctx, w); err != nil {
			return err
		}
		return wrap("the copy of PodDisruptionBudget "+spare,
			same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
			same("what it stands for", provenance.LocalOf(remote), provenance.Local{Namespace: team, Name: spare, UID: local.UID}),
			same("that it stays", remote.DeletionTimestamp.IsZero(), true),
			same("how many pods it wants", remote.Spec.MinAvailable.IntValue(), int(pods)))
	}
}
