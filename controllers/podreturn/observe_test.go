package podreturn

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestStuckBefore: what a pod waits for in an earlier tier, one that returns there would wait for, too.
func TestStuckBefore(t *testing.T) {
	runs, stuck := &corev1.Pod{}, &corev1.Pod{}
	stuck.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRejected, Message: "no"}}
	for name, test := range map[string]struct {
		pods []Pod
		want int
	}{
		"none":            {[]Pod{{Pod: runs, Tier: 1}, {Pod: runs, Tier: 2}}, 0},
		"in an earlier":   {[]Pod{{Pod: stuck, Tier: 1}, {Pod: runs, Tier: 2}}, 1},
		"in the last one": {[]Pod{{Pod: runs, Tier: 1}, {Pod: stuck, Tier: 2}}, 0},
		"alone":           {[]Pod{{Pod: stuck, Tier: 1}}, 0},
	} {
		if got := stuckBefore(test.pods); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}
