package pod

import (
	"testing"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func BenchmarkPod(b *testing.B) {
	local := fieldtest.PodOf(b, fieldtest.Bound)
	b.ReportAllocs()
	for b.Loop() {
		ToRemote(local, fieldtest.Shared, fieldtest.Generous, nil)
	}
}

// BenchmarkPodUpdate measures the usual case: nobody has changed the pod.
func BenchmarkPodUpdate(b *testing.B) {
	local := fieldtest.PodOf(b, running)
	remote := sentPod(b, local, fieldtest.Shared)
	b.ReportAllocs()
	for b.Loop() {
		if Update(local, remote, fieldtest.Shared, fieldtest.Generous).Main != nil {
			b.Fatal("there is nothing to send")
		}
	}
}
