package placement

import (
	"fmt"
	"testing"

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

// BenchmarkUsable is over ten providers.
func BenchmarkUsable(b *testing.B) {
	var bindings []v1alpha1.ClusterBinding
	for i := range 10 {
		bindings = append(bindings, *builder.Binding(fmt.Sprintf("provider-%d", i)).Obj())
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(Usable(bindings)) != len(bindings) {
			b.Fatal("all are")
		}
	}
}
