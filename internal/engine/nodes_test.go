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
	selects := corev1.PodSpec{NodeSelector: map[string]string{"pool": "gpu"}}
	tolerates := corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}}
	inGroup := map[string]string{corev1.LabelTopologyZone: "a", "pool": "gpu"}
	tainted := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} }
	for name, test := range map[string]struct {
		nodes []corev1.Node
		pod   corev1.PodSpec
		want  string // some, all, known
	}{
		"all of its group":               {[]corev1.Node{node(inGroup), node(nil)}, selects, "true true true"},
		"none of its group":              {[]corev1.Node{node(zone), node(map[string]string{"pool": "gpu"})}, selects, "false false true"},
		"its group is empty":             {[]corev1.Node{node(zone)}, selects, "true true true"},
		"one lacks it that it tolerates": {[]corev1.Node{node(zone), node(nil, tainted)}, tolerates, "true false true"},
		"none":                           {nil, corev1.PodSpec{}, "false false false"},
		"virtual only":                   {[]corev1.Node{node(virtual)}, corev1.PodSpec{}, "false false false"},
		"all":                            {[]corev1.Node{node(zone), node(zone), node(virtual)}, corev1.PodSpec{}, "true true true"},
		"some":                           {[]corev1.Node{node(zone), node(nil)}, corev1.PodSpec{}, "true false true"},
		"no node":                        {[]corev1.Node{node(nil)}, corev1.PodSpec{}, "false false true"},
		"all that take pods": {[]corev1.Node{node(zone), node(nil, func(n *corev1.Node) { n.Spec.Unschedulable = true }),
			node(nil, tainted), node(nil, func(n *corev1.Node) { n.Status.Conditions = nil })}, corev1.PodSpec{}, "true true true"},
		"only one that takes none": {[]corev1.Node{node(zone, func(n *corev1.Node) { n.Spec.Unschedulable = true }), node(nil)}, corev1.PodSpec{}, "true false true"},
	} {
		t.Run(name, func(t *testing.T) {
			some, all, known := haveLabel(test.nodes, &corev1.Pod{Spec: test.pod}, corev1.LabelTopologyZone)
			if got := fmt.Sprint(some, " ", all, " ", known); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
