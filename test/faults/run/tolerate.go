package run

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/oracle"
)

// tolerated removes from a State the conditions that may outlive a fault. A pod that was refused for a while
// now says that it is offloaded; a pod that never was says nothing (docs/concepts.md). A refused write counts
// for ten minutes, even if it is no longer needed (docs/troubleshooting.md).
func tolerated(state oracle.State) oracle.State {
	masked := make(oracle.State, len(state))
	for key, text := range state {
		switch {
		case strings.Contains(key, " Pod "):
			text = without(text, v1alpha1.PodOffloaded)
		case strings.Contains(key, " ClusterBinding "):
			text = without(text, v1alpha1.BindingWritesRefused)
		}
		masked[key] = text
	}
	return masked
}

// without removes a condition from an object in YAML if its status is True.
func without(text, condition string) string {
	if !strings.Contains(text, condition) {
		return text
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		return text
	}
	status, ok := object["status"].(map[string]any)
	if !ok {
		return text
	}
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return text
	}
	status["conditions"] = slices.DeleteFunc(conditions, func(is any) bool {
		fields, ok := is.(map[string]any)
		return ok && fields["type"] == condition && fields["status"] == string(metav1.ConditionTrue)
	})
	raw, err := yaml.Marshal(object)
	if err != nil {
		return text
	}
	return string(raw)
}
