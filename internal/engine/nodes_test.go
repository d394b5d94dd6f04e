package engine

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestHaveLabel(t *testing.T) {
	node := func(labels map[string]string, changes ...func(*corev1.Node)) corev1.Node {
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		for _, change := range changes {
			change(&node)
		}
		return node
	}
	zone := map[string]string{corev1.LabelTopologyZone: "a"}
	virtual := map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}
	for name, test := range map[string]struct {
		nodes []corev1.Node
		want  string // some, all, known
	}{
		"none":         {nil, "false false false"},
		"virtual only": {[]corev1.Node{node(virtual)}, "false false false"},
		"all":          {[]corev1.Node{node(zone), node(zone), node(virtual)}, "true true true"},
		"some":         {[]corev1.Node{node(zone), node(nil)}, "true false true"},
		"no node":      {[]corev1.Node{node(nil)}, "false false true"},
		"all that take pods": {[]corev1.Node{node(zone), node(nil, func(n *corev1.Node) { n.Spec.Unschedulable = true }),
			node(nil, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k"}} }), node(nil, func(n *corev1.Node) { n.Status.Conditions = nil })}, "true true true"},
		"only one that takes none": {[]corev1.Node{node(zone, func(n *corev1.Node) { n.Spec.Unschedulable = true }), node(nil)}, "true false true"},
	} {
		t.Run(name, func(t *testing.T) {
			some, all, known := haveLabel(test.nodes, corev1.LabelTopologyZone)
			if got := fmt.Sprint(some, " ", all, " ", known); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
