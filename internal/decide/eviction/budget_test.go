package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestUnhealthy(t *testing.T) {
	on := func(name, node string, options ...podOption) corev1.Pod {
		p := pod(options...)
		p.Name, p.Spec.NodeName = name, node
		return *p
	}
	ready := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	runs := on("runs", "spillway-eu", ready)
	for name, test := range map[string]struct {
		pages [][]corev1.Pod
		want  string
	}{
		"all are healthy":      {[][]corev1.Pod{{runs}}, ""},
		"one has no node":      {[][]corev1.Pod{{runs, on("waits", "")}}, "; not healthy: waits (waits for a node)"},
		"one is not Ready":     {[][]corev1.Pod{{on("starts", "own"), runs}}, "; not healthy: starts (not Ready)"},
		"one goes, one failed": {[][]corev1.Pod{{runs, on("goes", "own", deleted), on("ended", "own", phase(corev1.PodFailed))}}, ""},
		"many, in order": {[][]corev1.Pod{{on("g", ""), on("f", ""), on("e", ""), on("d", ""), on("c", ""), on("b", "")}, {runs, on("a", "own")}, {runs}},
			"; not healthy: a (not Ready), b (waits for a node), c (waits for a node), d (waits for a node), e (waits for a node), and 2 more"},
	} {
		t.Run(name, func(t *testing.T) {
			var unhealthy Unhealthy
			for _, page := range test.pages {
				unhealthy.Add(page)
			}
			if got := unhealthy.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if len(unhealthy.names) > mostNamed {
				t.Errorf("it keeps %v", unhealthy.names)
			}
		})
	}
}

func TestBudgetOf(t *testing.T) {
	for message, want := range map[string]string{
		"The disruption budget web needs 1 healthy pods and has 1 currently":     "web",
		"The disruption budget web is still being processed by the server.":      "web",
		"another text of a later version, which names the disruption budget web": "",
	} {
		if got := BudgetOf(message); got != want {
			t.Errorf("%q names %q, want %q", message, got, want)
		}
	}
}
