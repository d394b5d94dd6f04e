package podreturn

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestStuckBefore: what a pod waits for in an earlier tier, one that returns there would wait for, too.
func TestStuckBefore(t *testing.T) {
	runs, stuck := &corev1.Pod{}, &corev1.Pod{}
	stuck.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonRejected, Message: "no"}}
	for name, test := range map[string]struct {
		pods []Pod
		want int
	}{
		"none":            {[]Pod{{Pod: runs, Tier: 1}, {Pod: runs, Tier: 2}}, 0},
		"in an earlier":   {[]Pod{{Pod: stuck, Tier: 1}, {Pod: runs, Tier: 2}}, 1},
		"in the last one": {[]Pod{{Pod: runs, Tier: 1}, {Pod: stuck, Tier: 2}}, 0},
		"alone":           {[]Pod{{Pod: stuck, Tier: 1}}, 0},
	} {
		if got := stuckBefore(test.pods); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestLargest: no pod is larger than the largest node that its virtual node shows.
func TestLargest(t *testing.T) {
	node := func(name, cpu string, change func(*builder.NodeBuilder)) corev1.Node {
		b := builder.Node(name).Allocatable(corev1.ResourceCPU, cpu)
		if change != nil {
			change(b)
		}
		return *b.Obj()
	}
	gpus := func(b *builder.NodeBuilder) {
		b.Allocatable("nvidia.com/gpu", "2").Taint("nvidia.com/gpu", corev1.TaintEffectNoSchedule)
	}
	others := &connection.Foreign{Used: map[string]spill.Size{"a": {{Name: corev1.ResourceCPU, Value: 1000}}}}
	for name, test := range map[string]struct {
		nodes []corev1.Node
		want  string
	}{
		"what others leave":   {[]corev1.Node{node("a", "3", nil), node("b", "1", nil)}, "cpu 2"},
		"tainted or cordoned": {[]corev1.Node{node("b", "1", nil), node("c", "8", func(b *builder.NodeBuilder) { b.Taint("x", corev1.TaintEffectNoSchedule) }), node("d", "8", func(b *builder.NodeBuilder) { b.Cordoned() })}, "cpu 1"},
		"GPUs among others":   {[]corev1.Node{node("b", "1", nil), node("c", "8", gpus)}, "cpu 1, nvidia.com/gpu 2"},
		"GPUs alone":          {[]corev1.Node{node("c", "8", gpus)}, "cpu 8, nvidia.com/gpu 2"},
		"none":                {nil, ""},
	} {
		if got := largest(test.nodes, nodes.Listed(nil), others); got == nil || got.String() != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestExisting: of a virtual node that shows what there can be, only what exists and is usable is room for a pod that runs.
func TestExisting(t *testing.T) {
	node := func(name, cpu string) *builder.NodeBuilder {
		return builder.Node(name).Allocatable(corev1.ResourceCPU, cpu)
	}
	others := &connection.Foreign{Used: map[string]spill.Size{"a": {{Name: corev1.ResourceCPU, Value: 1000}}}}
	shown := spill.Size{{Name: corev1.ResourceCPU, Value: 100_000}}
	for want, of := range map[string][]corev1.Node{
		"":      {*node("g", "8").Allocatable("example.com/gpu", "2").Taint("example.com/gpu", corev1.TaintEffectNoSchedule).Obj()},
		"cpu 5": {*node("a", "3").Obj(), *node("b", "3").Obj(), *node("c", "8").Cordoned().Obj(), *node("d", "8").Taint("x", corev1.TaintEffectNoSchedule).Obj()},
	} {
		if got := existing(shown, together(of, true, nodes.Listed(nil), others)); got.String() != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRoom: of a provider that can grow, the room is what exists of what its virtual node shows.
func TestRoom(t *testing.T) {
	size := func(cpu int64) spill.Size { return spill.Size{{Name: corev1.ResourceCPU, Value: cpu}} }
	node := builder.Node("spillway-eu").Allocatable(corev1.ResourceCPU, "10").Obj()
	for name, test := range map[string]struct {
		elastic *v1alpha1.Elastic
		exists  spill.Size
		want    string
	}{
		"it does not grow":      {nil, nil, "cpu 9"},
		"nothing exists":        {&v1alpha1.Elastic{}, nil, ""},
		"a part of it exists":   {&v1alpha1.Elastic{}, size(4000), "cpu 3"},
		"more than it may show": {&v1alpha1.Elastic{}, size(40_000), "cpu 9"},
	} {
		binding := builder.Binding("eu").Obj()
		binding.Spec.VirtualNode.Elastic = test.elastic
		r := &Reconciler{
			Clock:   testclock.NewFakeClock(builder.Epoch),
			Largest: func(context.Context, string, field.Group) (spill.Size, bool) { return nil, true },
			Exists:  func(context.Context, string, field.Group) spill.Size { return test.exists },
		}
		r.used.known = map[string]map[string]counted{binding.Name: {node.Name: {size: size(1000), at: builder.Epoch}}}
		s := Snapshot{Offloading: builder.Offloading("team").Obj(), Places: make([][]Place, 1)}
		if err := r.room(t.Context(), &s, binding, 0, node); err != nil || len(s.Places[0]) != 1 || s.Places[0][0].Free.String() != test.want {
			t.Errorf("%s: %v, %v, want %s", name, err, s.Places, test.want)
		}
	}
}
