package clusterbinding

import (
	"testing"

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
