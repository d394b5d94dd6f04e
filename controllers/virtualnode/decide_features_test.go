package virtualnode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestDeclaredFeatures(t *testing.T) {
	const resize, rules, sockets = "InPlacePodLevelResourcesVerticalScaling", "ContainerRestartRules", "ExtendWebSocketsToKubelet"
	declaring := func(node *builder.NodeBuilder, names ...string) corev1.Node {
		n := *node.Obj()
		n.Status.DeclaredFeatures = names
		return n
	}
	for name, test := range map[string]struct {
		nodes []corev1.Node
		want  []string
	}{
		"no nodes":                           {nil, nil},
		"none declare any":                   {[]corev1.Node{declaring(builder.Node("a"))}, nil},
		"one node":                           {[]corev1.Node{declaring(builder.Node("a"), rules, resize)}, []string{rules, resize}},
		"what all have":                      {[]corev1.Node{declaring(builder.Node("a"), rules, resize), declaring(builder.Node("b"), resize)}, []string{resize}},
		"what not all have":                  {[]corev1.Node{declaring(builder.Node("a"), resize), declaring(builder.Node("b"))}, nil},
		"one that does not count":            {[]corev1.Node{declaring(builder.Node("a"), resize), declaring(builder.Node("b").Cordoned())}, []string{resize}},
		"only those that do not count":       {[]corev1.Node{declaring(builder.Node("a").Ready(corev1.ConditionFalse), resize)}, nil},
		"what a virtual node does not serve": {[]corev1.Node{declaring(builder.Node("a"), sockets, resize)}, []string{resize}},
		"not sorted, and twice":              {[]corev1.Node{declaring(builder.Node("a"), resize, rules, resize)}, []string{rules, resize}},
	} {
		t.Run(name, func(t *testing.T) {
			node, binding := &corev1.Node{}, builder.Binding("eu").Obj()
			applyStatus(node, binding, Offer{Nodes: test.nodes}, metav1.NewTime(builder.Epoch))
			if diff := cmp.Diff(test.want, node.Status.DeclaredFeatures); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
