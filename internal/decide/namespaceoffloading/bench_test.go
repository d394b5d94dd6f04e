package namespaceoffloading

import (
	"fmt"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// BenchmarkStatus computes the status of one offloading, with that many namespaces in each of three
// providers. This happens for each of the namespaces.
func BenchmarkStatus(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			var world Providers
			var bindings []v1alpha1.ClusterBinding
			for _, provider := range []string{"ap", "eu", "us"} {
				nsm := builder.Map(provider)
				for i := range n {
					name := fmt.Sprintf("team-%04d", i)
					nsm.Accepted(name, name+"-c")
				}
				bindings = append(bindings, *builder.Binding(provider).Connected().Obj())
				world.Maps = append(world.Maps, *nsm.Obj())
			}
			world.Bindings = placement.NewIndex(bindings)
			nso := builder.Offloading(fmt.Sprintf("team-%04d", n/2)).Obj()
			b.ReportAllocs()
			for b.Loop() {
				plan := Decide(Observe(nso, world, settings, builder.Epoch))
				if len(plan.Status.RemoteNamespaceConditions) != len(world.Maps) {
					b.Fatal("one is missing")
				}
			}
		})
	}
}
