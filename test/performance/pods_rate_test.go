//go:build bench

package performance

import (
	"context"
	"fmt"
	"testing"
)

// startupObjective is Kubernetes' own service level objective: for 99 % of the pods, the seconds from the
// creation until the pod runs (kubernetes/community, sig-scalability/slos/pod_startup_latency.md).
const startupObjective = 5.0

// rates are the pods created each second, in turn, until the objective is missed. rateSeconds is how long
// pods are created at each rate.
var rates = []float64{10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250}

const rateSeconds = 20

// TestRate finds the highest rate of creation at which Kubernetes' objective for the start of pods holds: in
// the provider, through the floor's node, and through a virtual node.
func TestRate(t *testing.T) {
	b := startPods(t, providers[:1])
	var columns []column
	var provider float64 // The highest rate that the provider keeps alone.
	for _, way := range []Way{Direct, Floor, Ours} {
		b.roll(t, PodsCase{N: warmUp, Providers: 1}, way)
		highest := 0.0
		var figures []figure
		for _, rate := range rates {
			run := b.atRate(t, way, rate)
			figures = append(figures, measured(fmt.Sprintf("p99 at %.0f pods/s, s", rate), "%.2f", run.Create.P99))
			if run.Create.P99 > startupObjective {
				break
			}
			highest = rate
		}
		switch way {
		case Direct:
			provider = highest
		case Ours:
			run := b.atRate(t, way, provider)
			figures = append(figures, measured(fmt.Sprintf("p99 at the provider's rate of %.0f pods/s, s", provider), "%.2f", run.Create.P99))
		}
		figures = append([]figure{measured(fmt.Sprintf("highest pods/s with p99 ≤ %.0f s", startupObjective), "%.0f", highest)}, figures...)
		columns = append(columns, column{string(way), figures})
	}
	show(t, "creation at a steady rate", columns...)
}

// atRate creates pods at a rate, and deletes them when all are Ready.
func (b *podsRig) atRate(t *testing.T, way Way, rate float64) PodsRun {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := b.prepare(ctx, PodsCase{N: int(rate * rateSeconds), Providers: 1}, way)
	must(t, err)
	r.rate = rate
	run, err := r.run(ctx, func() error { return nil })
	must(t, err)
	b.say("%-8s %3.0f pods/s: p50 %5.2f s, p99 %5.2f s", way, rate, run.Create.P50, run.Create.P99)
	return run
}
