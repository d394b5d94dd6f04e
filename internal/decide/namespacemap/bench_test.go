package namespacemap

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// benchSizes are numbers of namespaces. A linear function takes ten times as long for ten times as many, not
// a hundred times.
var benchSizes = []int{100, 1000}

func eachSize(b *testing.B, bench func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			bench(b, n)
		})
	}
}

func teams(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("team-%04d", i)
	}
	return names
}

// accepted returns the NamespaceMap of n namespaces that all exist.
func accepted(n int) *v1alpha1.NamespaceMap {
	nsm := builder.Map("eu")
	for _, name := range teams(n) {
		nsm.Accepted(name, name+"-c")
	}
	return nsm.Obj()
}

func BenchmarkDesired(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		var all []Wanted
		for _, name := range teams(n) {
			all = append(all, byDefault(name, "c"))
		}
		current := Desired(nil, all[:n/2])
		for b.Loop() {
			if len(Desired(current, all)) != n {
				b.Fatal("one is missing")
			}
		}
	})
}

// BenchmarkDecide measures the first reconcile, which creates all namespaces, and the last one, which finds
// all in order.
func BenchmarkDecide(b *testing.B) {
	for name, there := range map[string]bool{"none": false, "all": true} {
		b.Run("there="+name, func(b *testing.B) {
			eachSize(b, func(b *testing.B, n int) {
				s := Snapshot{Desired: accepted(n).Spec.DesiredMapping, Locals: map[string]types.UID{}, Remotes: map[string]RemoteNamespace{}, ManagerNamespace: manager}
				for _, name := range teams(n) {
					s.Locals[name] = types.UID("uid-" + name)
					if there {
						s.Remotes[name+"-c"] = ours(name+"-c", name)
					}
				}
				for b.Loop() {
					if plan := Decide(s); len(plan.Creates)+len(plan.Known) != n {
						b.Fatal("one is missing")
					}
				}
			})
		})
	}
}

func BenchmarkReport(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		nsm, known, now := accepted(n), map[string]Known{}, metav1.Now()
		for _, name := range teams(n) {
			known[name] = Known{name + "-c", active}
		}
		for b.Loop() {
			if len(Report(nsm, known, now).CurrentMapping) != n {
				b.Fatal("one is missing")
			}
		}
	})
}

// BenchmarkChanged compares two versions that differ in one entry.
func BenchmarkChanged(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		before, after := accepted(n), accepted(n)
		after.Status.CurrentMapping[n/2].Phase = v1alpha1.MappingTerminating
		for b.Loop() {
			if len(Changed(before, after)) != 1 {
				b.Fatal("one has")
			}
		}
	})
}
