package podadmission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
)

// TestTold: the owner of a pod is told each reason once, also by a manager that has just started. What goes with a write is
// always told.
func TestTold(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name)}}
	}
	said := func(name, of, reason, message string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, InvolvedObject: corev1.ObjectReference{UID: pod(of).UID}, Reason: reason, Message: message}
	}
	c := fake.NewClientBuilder().WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).
		WithObjects(pod("web"), pod("db"), said("web.1", "web", "A", "old"), said("web.2", "web", "A", "no room in 3 tiers"), said("db.1", "gone", "A", "no room in 3 tiers")).Build()
	plan := func(reason, message string) unscheduledpod.Plan {
		return unscheduledpod.Plan{Reason: reason, Message: message}
	}
	late := plan("A", "no room in 2 tiers")
	late.Tolerations = []corev1.Toleration{{Key: "eu"}}
	recorder := events.NewFakeRecorder(9)
	r := &Unscheduled{Client: c, Live: c, Events: recorder}
	for i, step := range []struct {
		pod    string
		plan   unscheduledpod.Plan
		before func()
		want   int
	}{
		{"web", plan("A", "no room in 3 tiers"), nil, 0}, // An earlier manager has told that.
		{"db", plan("A", "no room in 3 tiers"), nil, 1},
		{"db", plan("A", "no room in 3 tiers"), nil, 0},
		{"web", plan("A", "another cause"), nil, 1},
		{"web", plan("B", "another reason"), nil, 1},
		{"web", plan("B", "another reason"), nil, 0},
		{"web", plan("A", "another cause"), nil, 1}, // It is so again.
		{"web", plan("B", "another reason"), nil, 1},
		{"web", plan("", ""), nil, 0},
		{"web", late, nil, 1},
		{"web", late, nil, 1},
		{"db", plan("A", "no room in 3 tiers"), func() { r.told.leaves("team", pod("db").UID) }, 1},
		{"db", plan("A", "no room in 3 tiers"), func() { r.told.forget("team") }, 1}, // The events of the fake recorder are not in the API server.
	} {
		if step.before != nil {
			step.before()
		}
		of := &corev1.Pod{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: step.pod}, of); err != nil {
			t.Fatal(err)
		}
		if _, err := r.prepare(t.Context(), of, step.plan); err != nil {
			t.Fatal(err)
		}
		if n := len(recorder.Events); n != step.want {
			t.Errorf("step %d: %d events, want %d", i, n, step.want)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
	if n := len(r.told.of["team"]["A"]); n != 2 {
		t.Errorf("%d pods are remembered, want web and db", n)
	}
}
