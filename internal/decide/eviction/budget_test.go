package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnhealthy(t *testing.T) {
	of := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	on := func(name, node string, options ...podOption) corev1.Pod {
		p := pod(options...)
		p.Name, p.Labels, p.Spec.NodeName = name, map[string]string{"app": "web"}, node
		return *p
	}
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	runs := on("runs", "spillway-eu", ready)
	other := on("other", "")
	other.Labels = map[string]string{"app": "other"}
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		pods     []corev1.Pod
		want     string
	}{
		"all are healthy":      {of("web"), []corev1.Pod{runs}, ""},
		"one has no node":      {of("web"), []corev1.Pod{runs, on("waits", "")}, "; not healthy: waits (waits for a node)"},
		"one is not Ready":     {of("web"), []corev1.Pod{on("starts", "own"), runs}, "; not healthy: starts (not Ready)"},
		"one goes, one failed": {of("web"), []corev1.Pod{runs, on("goes", "own", deleted), on("ended", "own", phase(corev1.PodFailed))}, ""},
		"many, in order": {of("web"), []corev1.Pod{on("g", ""), on("f", ""), on("e", ""), on("d", ""), on("c", ""), on("b", ""), on("a", "own")},
			"; not healthy: a (not Ready), b (waits for a node), c (waits for a node), d (waits for a node), e (waits for a node), and 2 more"},
		"of another budget":               {of("other"), []corev1.Pod{runs, on("waits", ""), other}, ""},
		"not of the budget":               {of("web"), []corev1.Pod{runs, other}, ""},
		"of a budget of all pods":         {&metav1.LabelSelector{}, []corev1.Pod{runs, other}, "; not healthy: other (waits for a node)"},
		"of a budget that cannot be read": {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a b"}}, []corev1.Pod{runs, other}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			budgets := Budgets([]policyv1.PodDisruptionBudget{{Spec: policyv1.PodDisruptionBudgetSpec{Selector: test.selector}}}, test.pods)
			if got := Unhealthy(&runs, budgets); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
