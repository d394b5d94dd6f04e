package eviction

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/translate"
)

// BudgetOf is the name of the PodDisruptionBudget that keeps a pod, by the API server's text
// about that; "" if the text does not name it. The answer has the name in no other place.
func BudgetOf(message string) string {
	rest, found := strings.CutPrefix(message, "The disruption budget ")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// Unhealthy are the pods of a budget that are not healthy. While they are not, it may let
// none of its other pods go. The API server only says how many are healthy.
type Unhealthy struct {
	count int
	names []string // The first few of them.
}

// Add adds those among some pods of the budget. Pods that have ended, or are being deleted,
// do not count: nobody can make them healthy.
func (u *Unhealthy) Add(pods []corev1.Pod) {
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp.IsZero() && !terminal(pod) && !translate.IsReady(pod) {
			u.count++
			u.names = append(u.names, pod.Name+why(pod))
		}
	}
	slices.Sort(u.names)
	u.names = slices.Clone(u.names[:min(len(u.names), mostNamed)])
}

func why(pod *corev1.Pod) string {
	if pod.Spec.NodeName == "" {
		return " (waits for a node)"
	}
	return " (not Ready)"
}

// String names the first few; "" if there are none.
func (u *Unhealthy) String() string {
	if u.count == 0 {
		return ""
	}
	return "; not healthy: " + listed(u.names, u.count)
}
