package samples

import (
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// podDisruptionBudget is a PodDisruptionBudget of some pods. No such pod exists, so the copy wants as many healthy
// pods as the sample does.
func podDisruptionBudget(namespace, name, _ string) Sample[*policyv1.PodDisruptionBudget] {
	set := func(budget *policyv1.PodDisruptionBudget, pods string, available int32) {
		budget.Spec.Selector.MatchLabels, budget.Spec.MinAvailable = map[string]string{app: pods}, ptr.To(intstr.FromInt32(available))
	}
	local := &policyv1.PodDisruptionBudget{
		ObjectMeta: meta(namespace, name), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
	}
	set(local, "created", 2)
	return Sample[*policyv1.PodDisruptionBudget]{
		Object: local,
		Shows: func(b *policyv1.PodDisruptionBudget) string {
			return fmt.Sprint(b.Labels[label], b.Spec.Selector.MatchLabels, b.Spec.MinAvailable)
		},
		Change: func(local *policyv1.PodDisruptionBudget) {
			local.Labels[label] = "changed"
			set(local, "changed", 3)
		},
		Drift: func(remote *policyv1.PodDisruptionBudget) { set(remote, "drifted", 0) },
		Hostile: func(remote *policyv1.PodDisruptionBudget, word string) {
			hostileMeta(remote, word)
			set(remote, word, 1)
			remote.Status.Conditions = []metav1.Condition{{
				Type: "Hostile", Status: metav1.ConditionTrue, Reason: "Hostile", Message: word, LastTransitionTime: metav1.Now(),
			}}
		},
	}
}
