package run

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/oracle"
)

// tolerated takes out of a State what may remind of a fault that is over: a pod
// that was refused for a while says that it is offloaded now, and one that never
// was says nothing. That is promised (docs/concepts.md), and no divergence.
func tolerated(state oracle.State) oracle.State {
	masked := make(oracle.State, len(state))
	for key, text := range state {
		masked[key] = text
		if strings.Contains(key, " Pod ") && strings.Contains(text, v1alpha1.PodOffloaded) {
			masked[key] = withoutOffloaded(text)
		}
	}
	return masked
}

// withoutOffloaded takes the condition out, if it says True.
func withoutOffloaded(text string) string {
	var pod map[string]any
	if err := yaml.Unmarshal([]byte(text), &pod); err != nil {
		return text
	}
	status, ok := pod["status"].(map[string]any)
	if !ok {
		return text
	}
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return text
	}
	status["conditions"] = slices.DeleteFunc(conditions, func(condition any) bool {
		fields, ok := condition.(map[string]any)
		return ok && fields["type"] == v1alpha1.PodOffloaded && fields["status"] == string(corev1.ConditionTrue)
	})
	raw, err := yaml.Marshal(pod)
	if err != nil {
		return text
	}
	return string(raw)
}
