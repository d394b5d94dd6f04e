package clusterbinding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestSpeaks: the conditions are about the node with the largest problem, and a deletion cordons all before it deletes one.
func TestSpeaks(t *testing.T) {
	eu, us, ap := builder.Node("eu").Obj(), builder.Node("us").Obj(), builder.Node("ap").Obj()
	away := builder.Node("away").Ready(corev1.ConditionUnknown).Obj()
	cordoned := builder.Node("cordoned").Cordoned().Ready(corev1.ConditionUnknown).Obj()
	empty := builder.Node("empty").Obj()
	for i := range empty.Status.Conditions {
		empty.Status.Conditions[i].Reason = v1alpha1.ReasonNoUsableNodes
	}
	for name, test := range map[string]struct {
		named   *corev1.Node
		virtual []*corev1.Node
		want    string
	}{
		"none":                    {nil, nil, ""},
		"only one":                {eu, []*corev1.Node{eu}, "eu"},
		"somebody else's":         {eu, nil, "eu"},
		"groups":                  {nil, []*corev1.Node{ap, us}, "ap"},
		"one is not Ready":        {ap, []*corev1.Node{ap, away, us}, "away"},
		"one has no usable nodes": {nil, []*corev1.Node{empty, us}, "us"},
		"none has usable nodes":   {nil, []*corev1.Node{cordoned, empty}, "empty"},
		"all are cordoned":        {nil, []*corev1.Node{cordoned}, "cordoned"},
	} {
		got := ""
		if node := speaks(test.named, test.virtual); node != nil {
			got = node.Name
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestVirtualNodes: a node that somebody has deleted is listed, with its group, as long as it has pods.
func TestVirtualNodes(t *testing.T) {
	const zoneA = `{"zone":"a"}`
	eu, odd := builder.Node("spillway-eu.a-1").Obj(), builder.Node("spillway-eu.c-3").Obj()
	eu.Annotations, odd.Annotations = map[string]string{v1alpha1.AnnotationGroup: zoneA}, map[string]string{v1alpha1.AnnotationGroup: "{"}
	a, b := v1alpha1.VirtualNodeStatus{Name: eu.Name, Group: zoneA}, v1alpha1.VirtualNodeStatus{Name: "spillway-eu.b-2", Group: `{"zone":"b"}`}
	type list = []v1alpha1.VirtualNodeStatus
	for name, test := range map[string]struct {
		virtual []*corev1.Node
		before  list
		busy    string
		want    list
	}{
		"new":                        {[]*corev1.Node{eu}, nil, "", list{a}},
		"deleted, and it has pods":   {[]*corev1.Node{odd, eu}, list{a, b}, b.Name, list{a, b, {Name: odd.Name}}},
		"deleted, without pods":      {[]*corev1.Node{eu}, list{a, b}, a.Name, list{a}},
		"the last one, and has pods": {nil, list{b}, b.Name, list{b}},
	} {
		s := snapshot{Binding: builder.Binding("eu").Obj(), Virtual: test.virtual, Holds: func(node string) bool { return node == test.busy }}
		s.Binding.Status.VirtualNodes = test.before
		if diff := cmp.Diff(test.want, virtualNodes(s)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
