package engine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/toobig"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestSizes: a pod that fits a new node is not too big, and the provider has a node for it once one of its group takes pods.
func TestSizes(t *testing.T) {
	const pool = "example.com/pool"
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}
	}
	groups := &v1alpha1.Elastic{Groups: []v1alpha1.ElasticGroup{{Labels: map[string]v1alpha1.LabelValue{pool: "large"}, Node: list("4"), MaxNodes: 3}}}
	most := &v1alpha1.Elastic{Max: list("4")}
	small, large := "small", "large"
	for name, test := range map[string]struct {
		elastic   *v1alpha1.Elastic
		pool      string
		cpu       string
		big, ever bool
	}{
		"it does not grow":                    {nil, "small", "3", true, true},
		"a new node is large enough":          {groups, "large", "3", false, false},
		"another group grows":                 {groups, "small", "3", true, true},
		"a new node is too small as well":     {groups, "large", "5", true, true},
		"nobody says how large new nodes are": {most, "small", "3", false, false},
		"all there can be is too little":      {most, "small", "5", true, true},
	} {
		s := &sizes{provider: &fleet.Provider{}, clock: testclock.NewFakePassiveClock(builder.Epoch), at: builder.Epoch, elastic: func() *v1alpha1.Elastic { return test.elastic }}
		for _, label := range []string{small, large} {
			node := builder.Node(label).Label(pool, label).Label(corev1.LabelArchStable, "amd64")
			for name, quantity := range list("2") {
				node.Allocatable(name, quantity.String())
			}
			s.nodes = append(s.nodes, toobig.Node{Node: node.Obj()})
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{pool: test.pool, corev1.LabelArchStable: "amd64"}}}
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(test.cpu)}}}}
		if why, ever := s.tooBig(t.Context(), pod); (why != "") != test.big || ever != test.ever {
			t.Errorf("%s: %q, for ever: %v", name, why, ever)
		}
		if _, none := s.newNode(t.Context(), pod, field.Group{pool: &large}); none {
			t.Errorf("%s: it has no node of the group", name)
		}
		s.nodes = s.nodes[:1]
		if _, none := s.newNode(t.Context(), pod, field.Group{pool: &large}); none != (test.elastic != nil) {
			t.Errorf("%s: without a node of the group: %v", name, none)
		}
	}
}
