package decide_test

import (
	"testing"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

// BenchmarkCopy measures the decision about a ConfigMap that a pod needs.
func BenchmarkCopy(b *testing.B) {
	for name, moment := range map[string]fixture.Snapshot{
		"to be pinned":        fixture.Wanted(fixture.Local(), nil),
		"to be created":       fixture.Wanted(fixture.Local(fixture.Sent), nil),
		"changed":             fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote()),
		"nothing has changed": fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote()),
		"not needed any more": fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(), fixture.Unwanted),
	} {
		b.Run(name, func(b *testing.B) {
			subject := fixture.Of(moment)
			b.ReportAllocs()
			for b.Loop() {
				decide.Next(subject, fixture.Copies)
			}
		})
	}
}
