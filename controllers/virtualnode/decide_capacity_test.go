package virtualnode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func size(name, cpu, memory string) *builder.NodeBuilder {
	return builder.Node(name).Allocatable(corev1.ResourceCPU, cpu).Allocatable(corev1.ResourceMemory, memory)
}

func TestCapacity(t *testing.T) {
	percent := intstr.FromString
	type limits = map[corev1.ResourceName]intstr.IntOrString
	tests := map[string]struct {
		nodes  []*builder.NodeBuilder
		limits limits
		want   map[corev1.ResourceName]string
	}{
		"no nodes":                {nil, limits{"cpu": percent("50%")}, nil},
		"the sum":                 {[]*builder.NodeBuilder{size("a", "1500m", "1Gi"), size("b", "2", "512Mi")}, nil, map[corev1.ResourceName]string{"cpu": "3500m", "memory": "1536Mi"}},
		"resources of some nodes": {[]*builder.NodeBuilder{size("a", "1", "1Gi").Allocatable("example.com/gpu", "2"), size("b", "1", "1Gi")}, nil, map[corev1.ResourceName]string{"cpu": "2", "memory": "2Gi", "example.com/gpu": "2"}},
		"not those that are not ready": {[]*builder.NodeBuilder{size("a", "1", "1Gi"), size("b", "2", "2Gi").Ready(corev1.ConditionFalse), size("c", "4", "4Gi").Ready(corev1.ConditionUnknown), size("d", "8", "8Gi").WithoutConditions()},
			nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		"not those that take no pods": {[]*builder.NodeBuilder{size("a", "1", "1Gi"), size("b", "2", "2Gi").Cordoned(), size("c", "4", "4Gi").Deleted()},
			nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		"not those with a taint that keeps pods off": {[]*builder.NodeBuilder{size("a", "1", "1Gi").Taint("soft", corev1.TaintEffectPreferNoSchedule),
			size("b", "2", "2Gi").Taint("node-role.kubernetes.io/control-plane", corev1.TaintEffectNoSchedule), size("c", "4", "4Gi").Taint("gpu", corev1.TaintEffectNoExecute)},
			nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		"those with a taint that says what they say themselves": {[]*builder.NodeBuilder{size("a", "1", "1Gi").Taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)},
			nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		"those with a taint that pods may tolerate": {[]*builder.NodeBuilder{size("a", "1", "1Gi").Taint("example.com/offered", corev1.TaintEffectNoSchedule),
			size("b", "2", "2Gi").Taint("example.com/offered", corev1.TaintEffectNoSchedule).Taint("gpu", corev1.TaintEffectNoSchedule)},
			nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		"not those that are virtual": {[]*builder.NodeBuilder{size("a", "1", "1Gi"), size("b", "2", "2Gi").Label(v1alpha1.LabelNodeType, v1alpha1.NodeTypeVirtual)},
			nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		"capped":                               {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"cpu": percent("2500m"), "memory": percent("1Gi")}, map[corev1.ResourceName]string{"cpu": "2500m", "memory": "1Gi"}},
		"capped by a number":                   {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"cpu": intstr.FromInt32(2)}, map[corev1.ResourceName]string{"cpu": "2", "memory": "8Gi"}},
		"capped to nothing":                    {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"cpu": intstr.FromInt32(0), "memory": percent("0%")}, map[corev1.ResourceName]string{"cpu": "0", "memory": "0"}},
		"a cap above what there is":            {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"cpu": percent("100"), "memory": percent("100%")}, map[corev1.ResourceName]string{"cpu": "8", "memory": "8Gi"}},
		"a cap of what there is not":           {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"example.com/gpu": percent("1")}, map[corev1.ResourceName]string{"cpu": "8", "memory": "8Gi"}},
		"a share":                              {[]*builder.NodeBuilder{size("a", "3", "3Gi")}, limits{"cpu": percent("50%"), "memory": percent("50%")}, map[corev1.ResourceName]string{"cpu": "1500m", "memory": "1536Mi"}},
		"a share of pods is whole":             {[]*builder.NodeBuilder{builder.Node("a").Allocatable("pods", "110")}, limits{"pods": percent("33%")}, map[corev1.ResourceName]string{"pods": "36"}},
		"a share of devices is whole":          {[]*builder.NodeBuilder{builder.Node("a").Allocatable("example.com/gpu", "3")}, limits{"example.com/gpu": percent("50%")}, map[corev1.ResourceName]string{"example.com/gpu": "1"}},
		"a cap of pods is whole":               {[]*builder.NodeBuilder{builder.Node("a").Allocatable("pods", "110")}, limits{"pods": percent("1500m")}, map[corev1.ResourceName]string{"pods": "1"}},
		"a share of a great deal":              {[]*builder.NodeBuilder{builder.Node("a").Allocatable("memory", "9E")}, limits{"memory": percent("99%")}, map[corev1.ResourceName]string{"memory": "8910000000000000000"}},
		"more CPUs than thousandths can count": {[]*builder.NodeBuilder{builder.Node("a").Allocatable("cpu", "9E")}, limits{"cpu": percent("50%")}, map[corev1.ResourceName]string{"cpu": "4500P"}},
		"nothing of a resource":                {[]*builder.NodeBuilder{size("a", "1", "1Gi").Allocatable("example.com/gpu", "0")}, nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi", "example.com/gpu": "0"}},
		"a share that makes no sense":          {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"cpu": percent("101%"), "memory": percent("-1%")}, map[corev1.ResourceName]string{"cpu": "0", "memory": "0"}},
		"a cap that makes no sense":            {[]*builder.NodeBuilder{size("a", "8", "8Gi")}, limits{"cpu": percent("much")}, map[corev1.ResourceName]string{"cpu": "0", "memory": "8Gi"}},
	}
	tainted := *size("a", "1", "1Gi").Taint("example.com/other", corev1.TaintEffectNoSchedule).Obj()
	if got := total(Offer{Nodes: []corev1.Node{tainted}, Tolerable: []string{"*"}}); got.Cpu().String() != "1" {
		t.Errorf("where pods may tolerate every taint, a node with one counts as %v", got)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var nodes []corev1.Node
			for _, n := range test.nodes {
				nodes = append(nodes, *n.Obj())
			}
			want := builder.Node("want")
			for resource, quantity := range test.want {
				want.Allocatable(resource, quantity)
			}
			got := capacity(total(Offer{Nodes: nodes, Tolerable: []string{"example.com/offered"}}), test.limits)
			compare := cmp.Comparer(func(a, b corev1.ResourceList) bool {
				if len(a) != len(b) {
					return false
				}
				for name, quantity := range a {
					if other, ok := b[name]; !ok || quantity.Cmp(other) != 0 {
						return false
					}
				}
				return true
			})
			if wanted := want.Obj().Status.Allocatable; !cmp.Equal(wanted, got, compare) {
				t.Errorf("got %v, want %v", got, wanted)
			}
		})
	}
}

func TestShrinks(t *testing.T) {
	eu, full := builder.Binding("eu").Obj(), func(name string) *builder.NodeBuilder {
		return size(name, "4", "4Gi").Allocatable(corev1.ResourcePods, "110")
	}
	half := builder.Binding("eu").Obj()
	half.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{corev1.ResourceCPU: intstr.FromString("1")}
	for name, test := range map[string]struct {
		binding       *v1alpha1.ClusterBinding
		nodes         []*builder.NodeBuilder
		less, nothing bool
	}{
		"as it was":                    {eu, []*builder.NodeBuilder{full("a"), full("b")}, false, false},
		"a node more":                  {eu, []*builder.NodeBuilder{full("a"), full("b"), full("c")}, false, false},
		"one is cordoned":              {eu, []*builder.NodeBuilder{full("a"), full("b").Cordoned()}, true, false},
		"one is tainted":               {eu, []*builder.NodeBuilder{full("a"), full("b").Taint("gone", corev1.TaintEffectNoExecute)}, true, false},
		"one is not ready":             {eu, []*builder.NodeBuilder{full("a"), full("b").Ready(corev1.ConditionUnknown)}, true, false},
		"one is deleted":               {eu, []*builder.NodeBuilder{full("a")}, true, false},
		"one has less":                 {eu, []*builder.NodeBuilder{full("a"), full("b").Allocatable(corev1.ResourceMemory, "3Gi")}, true, false},
		"more of one, less of another": {eu, []*builder.NodeBuilder{full("a"), full("b").Allocatable(corev1.ResourceCPU, "8").Allocatable(corev1.ResourceMemory, "3Gi")}, true, false},
		"all are cordoned":             {eu, []*builder.NodeBuilder{full("a").Cordoned(), full("b").Cordoned()}, true, true},
		"all are gone":                 {eu, nil, true, true},
		"a limit is smaller":           {half, []*builder.NodeBuilder{full("a"), full("b")}, true, false},
		"the binding is paused":        {builder.Binding("eu").Paused().Obj(), nil, false, false},
		"the binding is deleted":       {builder.Binding("eu").Deleted(0).Obj(), nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			node := New(eu, Offer{})
			node.Status.Allocatable = total(Offer{Nodes: []corev1.Node{*full("a").Obj(), *full("b").Obj()}})
			var offer Offer
			for _, one := range test.nodes {
				offer.Nodes = append(offer.Nodes, *one.Obj())
			}
			if less, nothing := shrinks(node, test.binding, offer); less != test.less || nothing != test.nothing {
				t.Errorf("less: %v, nothing: %v", less, nothing)
			}
			if less, _ := shrinks(node, test.binding, Offer{Unknown: true}); less {
				t.Error("what is not known is no less")
			}
		})
	}
}
