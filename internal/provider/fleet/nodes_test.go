package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestTrimNode: what decides about a node is kept, and what each heartbeat changes is not.
func TestTrimNode(t *testing.T) {
	created, since, beat := metav1.NewTime(builder.Epoch), metav1.Unix(100, 0), metav1.Unix(200, 0)
	node := builder.Node("a").Cordoned().Obj()
	node.CreationTimestamp, node.Status.Conditions = created, []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: since, LastHeartbeatTime: beat, Reason: "KubeletNotReady"},
	}
	got, err := trimNode(node)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Node{ObjectMeta: node.ObjectMeta, Spec: corev1.NodeSpec{Unschedulable: true}, Status: corev1.NodeStatus{
		Allocatable: node.Status.Allocatable, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: since}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
