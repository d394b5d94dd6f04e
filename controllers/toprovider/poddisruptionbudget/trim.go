package poddisruptionbudget

import policyv1 "k8s.io/api/policy/v1"

// trim removes a part of the status that is never sent. If the object is oversized, it also removes the selector.
func trim(budget *policyv1.PodDisruptionBudget, oversized bool) {
	if len(budget.Status.DisruptedPods) > 0 {
		budget.Status.DisruptedPods = nil
	}
	if oversized {
		budget.Spec.Selector = nil
	}
}
