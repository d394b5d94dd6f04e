package virtualnode

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestSharedCapacity(t *testing.T) {
	capped := func(name, cpu string) *v1alpha1.ClusterBinding {
		b := builder.Binding(name).Obj()
		if cpu != "" {
			b.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{"cpu": intstr.FromString(cpu)}
		}
		return b
	}
	for name, test := range map[string]struct {
		mine  *v1alpha1.ClusterBinding
		older []*v1alpha1.ClusterBinding
		want  string
	}{
		"alone":                           {capped("us", ""), nil, "8"},
		"the older one has all":           {capped("us", ""), []*v1alpha1.ClusterBinding{capped("eu", "")}, "0"},
		"the older one has half":          {capped("us", ""), []*v1alpha1.ClusterBinding{capped("eu", "50%")}, "4"},
		"it wants less than is left":      {capped("us", "1"), []*v1alpha1.ClusterBinding{capped("eu", "50%")}, "1"},
		"it wants more than is left":      {capped("us", "7"), []*v1alpha1.ClusterBinding{capped("eu", "50%")}, "4"},
		"two have more than there is":     {capped("us", ""), []*v1alpha1.ClusterBinding{capped("eu", "6"), capped("ap", "6")}, "0"},
		"two have less than what is left": {capped("us", ""), []*v1alpha1.ClusterBinding{capped("eu", "2"), capped("ap", "25%")}, "4"},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{}
			provider := []corev1.Node{*size("a", "5", "5Gi").Obj(), *size("b", "3", "3Gi").Obj()}
			applyStatus(node, test.mine, Offer{Nodes: provider, Older: test.older}, metav1.NewTime(builder.Epoch))
			if got := node.Status.Allocatable.Cpu().String(); got != test.want {
				t.Errorf("it offers %s CPUs, want %s", got, test.want)
			}
		})
	}
}
