package virtualnode

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestCommonLabels checks that a virtual node has the kubelet labels on which the usable nodes agree now,
// whatever it had before.
func TestCommonLabels(t *testing.T) {
	const arch, os, size = corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable
	amd := func(name, in string) *builder.NodeBuilder {
		return builder.Node(name).Label(arch, "amd64").Label(os, "linux").Label(size, in).Label(corev1.LabelTopologyZone, "z").Label(corev1.LabelTopologyRegion, "r").Label("example.com/rack", "7")
	}
	arm := func() *builder.NodeBuilder {
		return builder.Node("arm").Label(arch, "arm64").Label(os, "linux").Label(size, "a")
	}
	for name, test := range map[string]struct {
		nodes   []*builder.NodeBuilder
		unknown bool
		binding *builder.BindingBuilder
		want    map[string]string // In addition to those that every virtual node has.
	}{
		"one node":                         {nodes: []*builder.NodeBuilder{amd("a", "a")}, want: map[string]string{arch: "amd64", size: "a"}},
		"they agree on some":               {nodes: []*builder.NodeBuilder{amd("a", "a"), amd("b", "b")}, want: map[string]string{arch: "amd64"}},
		"on others":                        {nodes: []*builder.NodeBuilder{amd("a", "a"), arm()}, want: map[string]string{size: "a"}},
		"one has none":                     {nodes: []*builder.NodeBuilder{amd("a", "a"), builder.Node("b")}},
		"one that is not usable":           {nodes: []*builder.NodeBuilder{amd("a", "a"), builder.Node("b").Cordoned()}, want: map[string]string{arch: "amd64", size: "a"}},
		"another system":                   {nodes: []*builder.NodeBuilder{builder.Node("a").Label(os, "windows")}, want: map[string]string{os: "windows"}},
		"two systems":                      {nodes: []*builder.NodeBuilder{builder.Node("a").Label(os, "windows"), builder.Node("b").Label(os, "linux")}},
		"none is usable: as it was":        {nodes: []*builder.NodeBuilder{arm().Cordoned()}, want: map[string]string{arch: "riscv64", size: "eu"}},
		"they cannot be seen: as it was":   {nodes: []*builder.NodeBuilder{amd("a", "a")}, unknown: true, want: map[string]string{arch: "riscv64", size: "eu"}},
		"the binding says otherwise":       {nodes: []*builder.NodeBuilder{amd("a", "a")}, binding: builder.Binding("eu").Label(size, "mine"), want: map[string]string{arch: "amd64", size: "mine"}},
		"values that the consumer refuses": {nodes: []*builder.NodeBuilder{amd("a", "a b").Label(arch, strings.Repeat("a", 64))}},
	} {
		t.Run(name, func(t *testing.T) {
			before := builder.Node("old").Label(arch, "riscv64").Label(os, "linux").Label(size, "eu").Obj()
			node := New(builder.Binding("eu").Obj(), Offer{Nodes: []corev1.Node{*before}})
			offer := Offer{Unknown: test.unknown}
			for _, n := range test.nodes {
				offer.Nodes = append(offer.Nodes, *n.Obj())
			}
			binding := builder.Binding("eu").Obj()
			if test.binding != nil {
				binding = test.binding.Obj()
			}
			apply(node, binding, offer)
			want := placement.NodeLabels(builder.Binding("eu").Obj())
			maps.Copy(want, test.want)
			if diff := cmp.Diff(want, node.Labels); diff != "" {
				t.Errorf("labels (-want +got)\n%s", diff)
			}
			once := node.DeepCopy()
			apply(node, binding, offer)
			if diff := cmp.Diff(once, node); diff != "" {
				t.Errorf("the second time something changes (-once +twice)\n%s", diff)
			}
			applyStatus(node, binding, offer, metav1.NewTime(builder.Epoch))
			if info := node.Status.NodeInfo; info.Architecture != want[arch] || info.OperatingSystem != want[os] {
				t.Errorf("node info %+v", info)
			}
		})
	}
}

// TestWhatAProviderTakes checks that pods which a provider does not accept are kept off its virtual node
// while that lasts.
func TestWhatAProviderTakes(t *testing.T) {
	binding, gpu := rich().Obj(), corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	refuses := func(why string) corev1.Taint {
		return corev1.Taint{Key: "spillway.io/no-new-pods", Value: why, Effect: corev1.TaintEffectNoSchedule}
	}
	node := New(binding, Offer{})
	for _, step := range []struct {
		offer  Offer
		taints []corev1.Taint
		labels map[string]string
	}{
		{Offer{Refuses: "LimitsInvalid"}, []corev1.Taint{ownTaint, gpu, refuses("LimitsInvalid")}, nil},
		{Offer{Refuses: "LimitsMissing"}, []corev1.Taint{ownTaint, gpu, refuses("LimitsMissing")}, nil},
		{Offer{VolumeTypes: []string{"csi", "nfs"}}, []corev1.Taint{ownTaint, gpu}, map[string]string{"spillway.io/volume-csi": "allowed", "spillway.io/volume-nfs": "allowed"}},
		{Offer{VolumeTypes: []string{"nfs"}}, []corev1.Taint{ownTaint, gpu}, map[string]string{"spillway.io/volume-nfs": "allowed"}},
		{Offer{}, []corev1.Taint{ownTaint, gpu}, nil},
	} {
		apply(node, binding, step.offer)
		want := placement.NodeLabels(binding)
		maps.Copy(want, step.labels)
		if diff := cmp.Diff([]any{step.taints, want}, []any{node.Spec.Taints, node.Labels}); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", step.offer, diff)
		}
	}
}
