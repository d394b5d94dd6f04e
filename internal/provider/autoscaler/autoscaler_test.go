package autoscaler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// about returns an event about a pod, whose name and UID are the same.
func about(pod, event, reason, message string) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{UID: types.UID(event)}, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "team-eu", Name: pod, UID: types.UID(pod)}}
}

// TestSaid has what autoscalers say, word for word.
func TestSaid(t *testing.T) {
	for name, test := range map[string]struct {
		reason, message string
		want            string
	}{
		"Cluster Autoscaler": {"NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached", "NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size reached"},
		"GKE": {"FailedScaleUp", "Node scale up in zones us-central1-f associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled.",
			"FailedScaleUp: Node scale up in zones us-central1-f associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled."},
		"Karpenter":               {"FailedScheduling", `Failed to schedule pod, all available instance types exceed limits for nodepool: "default"`, `FailedScheduling: Failed to schedule pod, all available instance types exceed limits for nodepool: "default"`},
		"the scheduler":           {"FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.", ""},
		"Cluster Autoscaler: yes": {"TriggeredScaleUp", "pod triggered scale-up: [{eks-pool 0->1 (max: 3)}]", ""},
		"Karpenter: yes":          {"Nominated", "Pod should schedule on: nodeclaim/default-x", ""},
	} {
		if got := said(about("web", "1", test.reason, test.message)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	of := about("web", "1", "NotTriggerScaleUp", "")
	if of.InvolvedObject.Kind = "CapacityBuffer"; said(of) != "" {
		t.Error("what is said of another kind counts")
	}
}

// TestAnswers: an answer counts until its event is gone, and is told once.
func TestAnswers(t *testing.T) {
	var told []string
	to := &Answers{}
	to.Follow(t.Context(), func(pod types.NamespacedName) { told = append(told, pod.String()) })
	of := &answers{to: to, said: map[types.UID]answer{}}
	to.held = []*answers{of}
	no := func(pod, event, message string) *corev1.Event { return about(pod, event, "NotTriggerScaleUp", message) }
	for _, event := range []*corev1.Event{no("web", "1", "first"), no("web", "1", "again"), no("web", "2", "another"), no("db", "3", "no")} {
		if err := of.Add(event); err != nil {
			t.Fatal(err)
		}
	}
	if err := of.Delete(no("web", "1", "")); err != nil {
		t.Fatal(err)
	}
	if err := of.Delete(no("db", "3", "")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"team-eu/web", "team-eu/db"}, told); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
	if web, db := to.Declined("web"), to.Declined("db"); web != "NotTriggerScaleUp: another" || db != "" {
		t.Errorf("of web: %q, of db: %q", web, db)
	}
	for n := range mostAnswers + 1 {
		put(of.said, no(string(rune(n+1)), "e", ""))
	}
	if len(of.said) != mostAnswers {
		t.Errorf("%d answers are held", len(of.said))
	}
}
