package syncer

import (
	"fmt"
	"testing"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

// BenchmarkCopy is the decision about a ConfigMap that a pod needs.
func BenchmarkCopy(b *testing.B) {
	for name, moment := range map[string]mapSnapshot{
		"to be marked":        wanted(localMap(), nil),
		"to be created":       wanted(localMap(sent), nil),
		"changed":             wanted(localMap(sent, data("a", "2")), remoteMap()),
		"nothing has changed": wanted(localMap(sent), remoteMap()),
		"not needed any more": wanted(localMap(sent), remoteMap(), unwanted),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Decide(moment, testCopies)
			}
		})
	}
}

// BenchmarkPlace is where the objects of one of many namespaces go, which is
// asked for each object, and the index for it, which is made for each version
// of the NamespaceMap.
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
				newMapping(binding, entries, testWorld)
			}
		})
		mapping := newMapping(binding, entries, testWorld)
		b.Run(fmt.Sprintf("find/N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !mapping.place(testMark, "team-0042").Open {
					b.Fatal("it is there")
				}
			}
		})
		changed := newMapping(binding, builder.Map("eu").Obj(), testWorld)
		b.Run(fmt.Sprintf("differing/N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(mapping.differing(changed, testMark)) != n {
					b.Fatal("all do")
				}
			}
		})
	}
}
