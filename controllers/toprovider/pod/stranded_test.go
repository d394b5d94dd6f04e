package pod_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestStranded(t *testing.T) {
	away := field.Problem{Reason: v1alpha1.ReasonProviderAway, Message: "provider eu cannot be reached (Unreachable)"}
	says := func(problem field.Problem) *corev1.PodCondition {
		return &corev1.PodCondition{
			Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: problem.Reason, Message: problem.Message,
			ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(builder.Epoch),
		}
	}
	saying := func(problem field.Problem) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{*says(problem)} }
	}
	waits := field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady, Message: "the remote namespace is not there yet"}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want *corev1.PodCondition
	}{
		"it is new":                        {local(), says(away)},
		"it has waited for something else": {local(saying(waits)), says(away)},
		"it says so":                       {local(saying(away)), nil},
		"something else says so": {local(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, Message: away.Message}}
		}), says(away)},
		"it was sent":                      {local(started), nil},
		"another one of its manifest was":  {local(started, writtenFor("local-0")), says(away)},
		"it is being deleted":              {local(going(30)), nil},
		"it has ended":                     {local(phase(corev1.PodFailed)), nil},
		"it would not be sent in any case": {local(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.pod.DeepCopy()
			status := pod.ProviderAwayStatus(c.pod, away, builder.Epoch)
			if diff := cmp.Diff(before, c.pod); diff != "" {
				t.Errorf("the pod of the cache has changed: %s", diff)
			}
			if c.want == nil || status == nil {
				if (c.want == nil) != (status == nil) {
					t.Errorf("status %v, want one with %v", status, c.want)
				}
				return
			}
			if diff := cmp.Diff(*c.want, status.Conditions[len(status.Conditions)-1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
