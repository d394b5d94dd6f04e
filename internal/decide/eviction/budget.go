package eviction

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// BudgetOf returns the name of the PodDisruptionBudget that protects a pod from eviction, from the API
// server's text. It is "" if the text does not name the budget. The answer has the name in no other place.
func BudgetOf(message string) string {
	rest, found := strings.CutPrefix(message, "The disruption budget ")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}

// Unhealthy are the pods of a budget that are not healthy. While there are any, the budget may allow no
// eviction of its other pods. The API server only says how many pods are healthy.
type Unhealthy struct {
	count int
	names []string // The first few names.
}

// Add adds the unhealthy pods of the budget. Pods that have ended, or are being deleted, do not count,
// because nobody can make them healthy.
func (u *Unhealthy) Add(pods []corev1.Pod) {
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp.IsZero() && !terminal(pod) && !field.IsReady(pod) {
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

// String names the first few pods; "" if there are none.
func (u *Unhealthy) String() string {
	if u.count == 0 {
		return ""
	}
	return "; not healthy: " + listed(u.names, u.count)
}
