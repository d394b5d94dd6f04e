package drain

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestChanges(t *testing.T) {
	for name, test := range map[string]struct {
		is, wanted bool
		by         string
		change     bool
		why        string
	}{
		"cordon":                  {wanted: true, change: true},
		"cordon once more":        {is: true, wanted: true, why: "it is cordoned already"},
		"uncordon":                {is: true, change: true},
		"uncordon once more":      {why: "it is not cordoned"},
		"the manager's own":       {is: true, by: v1alpha1.CordonedEmpty, why: "the manager has cordoned it: GroupEmpty"},
		"drain the manager's own": {is: true, by: v1alpha1.CordonedEmpty, wanted: true, why: "it is cordoned already"},
	} {
		node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: test.is}}
		node.Annotations = map[string]string{v1alpha1.AnnotationCordoned: test.by}
		if change, why := changes(node, test.wanted); change != test.change || why != test.why {
			t.Errorf("%s: got %v, %q", name, change, why)
		}
	}
}

// TestNeeded: a role that may only cordon nodes can uncordon them.
func TestNeeded(t *testing.T) {
	plain, drained := &v1alpha1.ClusterBinding{}, &v1alpha1.ClusterBinding{}
	drained.Annotations = map[string]string{v1alpha1.AnnotationDrained: v1alpha1.DrainedTrue}
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		drained bool
		want    bool
	}{
		"uncordon":              {drained, false, true},
		"uncordon without mark": {plain, false, false},
		"drain":                 {plain, true, true},
		"drain on":              {drained, true, false},
	} {
		if got := slices.Contains(needed(test.binding, test.drained, rightsToEvict), rightToMark); got != test.want {
			t.Errorf("%s: to change the binding is needed: %v", name, got)
		}
	}
}

func TestLeaving(t *testing.T) {
	pod := func(name, kind string, phase corev1.PodPhase) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Status: corev1.PodStatus{Phase: phase}}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Controller: ptr.To(true)}}
		}
		return p
	}
	pods := leaving([]corev1.Pod{
		pod("agent", "DaemonSet", corev1.PodRunning), pod("done", "", corev1.PodSucceeded), pod("failed", "", corev1.PodFailed),
		pod("web", "ReplicaSet", corev1.PodRunning), pod("lone", "", corev1.PodPending),
	})
	if got, want := left(pods, nil), "2 pods (team/lone, team/web) being evicted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := lost(pods).String(), "1 pod (team/lone)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnwatched(t *testing.T) {
	budget := "Cannot evict pod as it would violate the pod's disruption budget."
	for message, want := range map[string]bool{budget: false, "This pod has more than one PodDisruptionBudget": true, "too many requests": true} {
		if got := unwatched(map[types.NamespacedName]string{{Name: "a"}: budget, {Name: "b"}: message}); got != want {
			t.Errorf("%s: got %v", message, got)
		}
	}
}
