package virtualnode

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestNoUsableNodes(t *testing.T) {
	hostile := strings.Repeat("x", 4096)
	for name, test := range map[string]struct {
		nodes []*builder.NodeBuilder
		want  string
	}{
		"no nodes":         {nil, "the provider has no nodes"},
		"one that is free": {[]*builder.NodeBuilder{builder.Node("a").Cordoned(), builder.Node("b")}, ""},
		"all cordoned":     {[]*builder.NodeBuilder{builder.Node("a").Cordoned(), builder.Node("b").Cordoned()}, "no node of the provider is usable: 2 cordoned"},
		"each for a reason of its own": {[]*builder.NodeBuilder{builder.Node("a").Cordoned(), builder.Node("b").Ready(corev1.ConditionFalse),
			builder.Node("c").Taint("gpu", corev1.TaintEffectNoSchedule), builder.Node("d").Taint("cpu", corev1.TaintEffectNoExecute), builder.Node("e").Deleted()},
			"no node of the provider is usable: 1 being deleted, 1 cordoned, 1 not ready, 2 tainted (such as cpu)"},
		"a taint that nobody can read": {[]*builder.NodeBuilder{builder.Node("a").Taint(hostile, corev1.TaintEffectNoSchedule)}, "no node of the provider is usable: 1 tainted"},
		"only a virtual one":           {[]*builder.NodeBuilder{builder.Node("a").Label(v1alpha1.LabelNodeType, v1alpha1.NodeTypeVirtual)}, "the provider has no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			var provider []corev1.Node
			for _, n := range test.nodes {
				provider = append(provider, *n.Obj())
			}
			node := &corev1.Node{}
			applyStatus(node, builder.Binding("eu").Obj(), Offer{Nodes: provider}, metav1.NewTime(builder.Epoch))
			ready := node.Status.Conditions[0]
			if ready.Type != corev1.NodeReady || ready.Status != corev1.ConditionTrue {
				t.Fatalf("%s is %s", ready.Type, ready.Status)
			}
			if said := ready.Reason == v1alpha1.ReasonNoUsableNodes; said != (test.want != "") {
				t.Errorf("the reason is %s", ready.Reason)
			}
			if test.want != "" && ready.Message != test.want {
				t.Errorf("it says %q, want %q", ready.Message, test.want)
			}
		})
	}
}

func TestDiffers(t *testing.T) {
	node := func() *builder.NodeBuilder {
		return builder.Node("a").Allocatable("cpu", "2").Taint("gpu", corev1.TaintEffectNoSchedule)
	}
	for name, test := range map[string]struct {
		after *builder.NodeBuilder
		want  bool
	}{
		"nothing":              {node(), false},
		"a label of others":    {node().Label("example.com/rack", "7"), false},
		"another architecture": {node().Label(corev1.LabelArchStable, "arm64"), true},
		"cordoned and tainted": {node().Cordoned(), true},
		"not ready any more":   {node().Ready(corev1.ConditionFalse), true},
		"another taint":        {node().Taint("cpu", corev1.TaintEffectNoSchedule), true},
		"a virtual one":        {node().Label(v1alpha1.LabelNodeType, v1alpha1.NodeTypeVirtual), true},
		"more to allocate":     {node().Allocatable("memory", "1Gi"), true},
	} {
		if got := differs(node().Obj(), test.after.Obj()); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
	starting, gone := node().Ready(corev1.ConditionFalse).Obj(), node().Ready(corev1.ConditionUnknown).Obj()
	for node, at := range map[*corev1.Node]time.Duration{starting: 0, gone: time.Hour} {
		node.Status.Conditions[1].LastTransitionTime = metav1.NewTime(node.CreationTimestamp.Add(at))
	}
	if !differs(starting, gone) {
		t.Error("a node that has never been ready, and does not start any more, makes no difference")
	}
	before, after := node().Obj(), node().Obj()
	after.Status.DeclaredFeatures = []string{"Some"}
	if !differs(before, after) {
		t.Error("another feature makes no difference")
	}
}
