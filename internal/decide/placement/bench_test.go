package placement

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func BenchmarkSelects(b *testing.B) {
	binding := builder.Binding("eu").Label("region", "eu").Label("tier", "gold").Obj()
	offloading := builder.Offloading("team").Selector(
		builder.Requirement("region", corev1.NodeSelectorOpIn, "eu", "us"), builder.Requirement("tier", corev1.NodeSelectorOpExists)).Obj()
	b.ReportAllocs()
	for b.Loop() {
		if selected, err := Selects(offloading.Spec.ClusterSelector, binding); !selected || err != nil {
			b.Fatal(selected, err)
		}
	}
}

// BenchmarkIndex compares a hundred bindings, ten for each of ten providers. Then it asks for each binding
// which others share its provider, as one pass over an offloading does.
func BenchmarkIndex(b *testing.B) {
	var bindings []v1alpha1.ClusterBinding
	for i := range 100 {
		bindings = append(bindings, *builder.Binding(fmt.Sprintf("binding-%d", i)).Pinned(fmt.Sprintf("uid-%d", i%10)).Authorities("ca").Created(time.Duration(i) * time.Second).Obj())
	}
	b.ReportAllocs()
	for b.Loop() {
		all, older := NewIndex(bindings), 0
		for _, binding := range all.Usable() {
			older += len(all.Older(binding))
		}
		if older != 10*45 {
			b.Fatal(older)
		}
	}
}
