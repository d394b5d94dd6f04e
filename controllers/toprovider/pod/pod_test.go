package pod

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// TestAccepts: what the provider's limits or classes refuse needs nothing.
func TestAccepts(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{RuntimeClassName: ptr.To("sandbox")}}
	sandbox := field.Classes{{Kind: v1alpha1.ClassRuntime, Name: "sandbox", RemoteName: "gvisor"}}
	having := func(presence field.Presence) decide.Inputs {
		return decide.Inputs{Limits: &field.Limits{}, Classes: sandbox, Has: func(v1alpha1.ClassKind, string) field.Presence { return presence }}
	}
	for name, test := range map[string]struct {
		around          decide.Inputs
		accepted, known bool
	}{
		"unknown limits": {decide.Inputs{Limits: field.MissingLimits(), Classes: sandbox}, false, true},
		"not mapped":     {decide.Inputs{Limits: &field.Limits{}}, false, true},
		"mapped":         {decide.Inputs{Limits: &field.Limits{}, Classes: sandbox}, true, true},
		"there":          {having(field.ClassThere), true, true},
		"not there":      {having(field.ClassMissing), false, true},
		"not known yet":  {having(field.ClassUnread), false, false}, // After a restart nothing is sent, or withdrawn.
	} {
		if accepted, known := accepts(pod, test.around); accepted != test.accepted || known != test.known {
			t.Errorf("%s: accepted: %t, known: %t", name, accepted, known)
		}
	}
}

func TestAwaited(t *testing.T) {
	pod := func(phase corev1.PodPhase, ready corev1.ConditionStatus, conditions ...corev1.PodCondition) *corev1.Pod {
		conditions = append(conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready})
		return &corev1.Pod{Status: corev1.PodStatus{Phase: phase, Conditions: conditions}}
	}
	running := pod(corev1.PodRunning, corev1.ConditionTrue)
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          bool
	}{
		"bound to a node":    {pod(corev1.PodPending, corev1.ConditionFalse), pod(corev1.PodPending, corev1.ConditionFalse, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}), false},
		"begins, and is not": {pod(corev1.PodPending, corev1.ConditionFalse), pod(corev1.PodRunning, corev1.ConditionFalse), true},
		"becomes Ready":      {pod(corev1.PodRunning, corev1.ConditionFalse), running, true},
		"is not any more":    {running, pod(corev1.PodRunning, corev1.ConditionFalse), true},
		"ends":               {running, pod(corev1.PodSucceeded, corev1.ConditionFalse), true},
		"stays as it is":     {running, running, false},
		"tells more":         {running, pod(corev1.PodRunning, corev1.ConditionTrue, corev1.PodCondition{Type: "Paid", Status: corev1.ConditionTrue}), false},
		"is gone":            {running, nil, true},
	} {
		if got := awaited(test.before, test.after); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
