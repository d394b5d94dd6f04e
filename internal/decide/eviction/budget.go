package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spillway-io/spillway/internal/translate"
)

// Budget is a PodDisruptionBudget with its pods that are not healthy. While they are not,
// it may let none of its other pods go. The API server only says how many are healthy.
type Budget struct {
	selector  labels.Selector
	unhealthy []string
}

// Budgets finds these pods for each budget of a namespace. Pods that have ended, or are
// being deleted, do not count: nobody can make them healthy.
func Budgets(budgets []policyv1.PodDisruptionBudget, pods []corev1.Pod) []Budget {
	var all []Budget
	for i := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(budgets[i].Spec.Selector)
		if err != nil {
			continue // The disruption controller cannot read it either.
		}
		budget, healthy := Budget{selector: selector}, translate.IsHealthy(&budgets[i])
		for j := range pods {
			pod := &pods[j]
			if pod.DeletionTimestamp.IsZero() && !terminal(pod) && selector.Matches(labels.Set(pod.Labels)) && !healthy(pod) {
				budget.unhealthy = append(budget.unhealthy, pod.Name+why(pod))
			}
		}
		slices.Sort(budget.unhealthy)
		all = append(all, budget)
	}
	return all
}

func why(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return " (waits for a node)"
	}
	return " (not Ready)"
}

// Unhealthy names the pods that are not healthy of the budgets that count the pod; "" if
// there are none.
func Unhealthy(pod *corev1.Pod, budgets []Budget) string {
	var names []string
	for _, budget := range budgets {
		if budget.selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, budget.unhealthy...)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; not healthy: " + listed(slices.Compact(names))
}
