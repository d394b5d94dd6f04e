package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

func TestOnlyWhatWasAskedOfTheAnswerHadNoEffect(t *testing.T) {
	pod := func(version, tier, team, message string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: version, Labels: map[string]string{"tier": tier, "team": team}},
			Status:     corev1.PodStatus{Phase: phase, Message: message},
		}
	}
	patch := func(verb decide.Verb, side decide.Side, before, after *corev1.Pod) decide.Action {
		return decide.Action{Verb: verb, Side: side, Before: before, Object: after}
	}
	labels := decide.AppliedAction{Action: patch(decide.Patch, decide.Remote, pod("1", "a", "a", "", "Pending"), pod("1", "b", "b", "", "Pending")), Response: pod("2", "a", "a", "", "Pending")}
	status := decide.AppliedAction{Action: patch(decide.PatchStatus, decide.Local, pod("1", "a", "a", "", "Pending"), pod("1", "later", "a", "no", "Running")), Response: pod("2", "a", "a", "", "Running")}
	resize, resized := labels, patch(decide.Patch, decide.Remote, pod("2", "a", "a", "", "Pending"), pod("2", "b", "b", "", "Pending"))
	resize.Subresource = "resize"
	bare := func() *corev1.Pod {
		p := pod("2", "", "", "", "Pending")
		p.Labels = nil
		return p
	}
	untied := func() *corev1.Pod {
		p := pod("2", "b", "", "", "Pending")
		delete(p.Labels, "team")
		return p
	}
	tier := decide.AppliedAction{Action: patch(decide.Patch, decide.Remote, pod("1", "a", "a", "", "Pending"), pod("1", "b", "a", "", "Pending")), Response: pod("2", "a", "a", "", "Pending")}
	gone := decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: pod("2", "a", "a", "", "Pending")}
	for name, tc := range map[string]struct {
		made decide.AppliedAction
		now  decide.Action
		want bool
	}{
		"both are taken back":               {labels, patch(decide.Patch, decide.Remote, pod("2", "a", "a", "", "Pending"), pod("2", "b", "b", "", "Pending")), true},
		"one is taken back":                 {labels, patch(decide.Patch, decide.Remote, pod("2", "b", "a", "", "Pending"), pod("2", "b", "b", "", "Pending")), true},
		"another value is asked for":        {labels, patch(decide.Patch, decide.Remote, pod("2", "a", "b", "", "Pending"), pod("2", "c", "b", "", "Pending")), false},
		"somebody else has written since":   {labels, patch(decide.Patch, decide.Remote, pod("3", "a", "b", "", "Pending"), pod("3", "b", "b", "", "Pending")), false},
		"it is the other cluster":           {labels, patch(decide.Patch, decide.Local, pod("2", "a", "b", "", "Pending"), pod("2", "b", "b", "", "Pending")), false},
		"it is something else":              {labels, decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: pod("2", "a", "b", "", "Pending")}, false},
		"it is the status":                  {labels, patch(decide.PatchStatus, decide.Remote, pod("2", "a", "a", "", "Pending"), pod("2", "b", "b", "", "Pending")), false},
		"it is another part":                {resize, resized, false},
		"it is a deletion, as before":       {decide.AppliedAction{Action: gone, Response: pod("2", "a", "a", "", "Pending")}, gone, false},
		"nothing was made":                  {decide.AppliedAction{}, resized, false},
		"all labels are to go":              {labels, patch(decide.Patch, decide.Remote, pod("2", "a", "a", "", "Pending"), bare()), false},
		"one that was left alone is to go":  {tier, patch(decide.Patch, decide.Remote, pod("2", "a", "a", "", "Pending"), untied()), false},
		"a field of a status is not kept":   {status, patch(decide.PatchStatus, decide.Local, pod("2", "a", "a", "", "Running"), pod("2", "latest", "a", "no", "Running")), true},
		"another field of a status changes": {status, patch(decide.PatchStatus, decide.Local, pod("2", "a", "a", "", "Running"), pod("2", "latest", "a", "no", "Succeeded")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isRepeated(tc.now, tc.made); got != tc.want {
				t.Errorf("it is within what was made: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestRedone checks that an action that somebody reverts each time is repeated at growing intervals, and that
// its owner is informed once.
func TestRedone(t *testing.T) {
	p, rig := planner()
	s := fixture.Observed(fixture.Local(), nil) // The object is not protected.
	s.Known = true
	told := 0
	for times := range 5 {
		plan := run(p, rig, s)
		if times > 0 && (len(plan.Actions) > 0 || plan.RetryAfter <= 0) {
			t.Fatalf("try %d is made at once: %v", times, plan)
		}
		rig.Clock.Step(plan.RetryAfter)
		plan = run(p, rig, s)
		if len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Patch || plan.Actions[0].Side != decide.Local {
			t.Fatalf("got %v", plan.Actions)
		}
		if plan.Event != nil {
			told++
			for _, part := range []string{"metadata.annotations, metadata.finalizers, metadata.labels of team/settings", "the consumer"} {
				if !strings.Contains(plan.Event.Message, part) {
					t.Errorf("%q does not say %q", plan.Event.Message, part)
				}
			}
		}
		rig.Attempts.Change(s.Key, func(r *attempts.Record) { r.Writes.Add(plan.Actions[0], rig.Clock.Now()) })
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
