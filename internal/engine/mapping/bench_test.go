package mapping

import (
	"fmt"
	"testing"

	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// BenchmarkPlace measures finding the destination of one of many namespaces, which happens for each object. It
// also measures building the index, which happens for each version of the NamespaceMap.
func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{100, 1000} {
		binding, nsm := builder.Binding("eu").Obj(), builder.Map("eu")
		for i := range n {
			nsm.Accepted(fmt.Sprintf("team-%04d", i), fmt.Sprintf("team-%04d-home", i))
		}
		entries := nsm.Obj()
		b.Run(fmt.Sprintf("index/N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				New(fixture.Mark, binding, entries, testWorld)
			}
		})
		mapping := New(fixture.Mark, binding, entries, testWorld)
		b.Run(fmt.Sprintf("find/N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !mapping.Destination("team-0042").Open {
					b.Fatal("it is there")
				}
			}
		})
		changed := New(fixture.Mark, binding, builder.Map("eu").Obj(), testWorld)
		b.Run(fmt.Sprintf("differing/N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(mapping.Differing(changed)) != n {
					b.Fatal("all do")
				}
			}
		})
	}
}
