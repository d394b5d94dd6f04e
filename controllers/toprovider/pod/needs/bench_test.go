package needs

import (
	"testing"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func BenchmarkPodReferences(b *testing.B) {
	local := fieldtest.PodOf(b, fieldtest.Bound)
	b.ReportAllocs()
	for b.Loop() {
		if len(Of(local).ConfigMaps) != 1 {
			b.Fatal("there is one")
		}
	}
}
