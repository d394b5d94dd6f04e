package performance

import (
	"fmt"
	"slices"
	"time"
)

// Broken returns the bounds that one size has broken.
func (r Result) Broken() []error {
	var broken []error
	check := func(what string, err error) {
		if err != nil {
			broken = append(broken, fmt.Errorf("N=%d: %s: %w", r.N, what, err))
		}
	}
	check("remote namespaces created", exactly(r.Offload.RemoteCreates, r.N*r.Providers))
	check("remote namespaces deleted", exactly(r.Delete.RemoteDeletes, r.N*r.Providers))
	check("writes of NamespaceMaps", below(r.Offload.MapSpecWrites+r.Offload.MapStatusWrites, max(mostMapWrites*float64(r.N), float64(fewMapWrites*r.Providers+1))))
	check("status writes of an offloading", below(r.Offload.MostStatusWrites, mostStatusWrites+1))
	check("status writes of a deletion", below(r.Delete.MostStatusWrites, float64(mostStatusWritesDeleting+r.Providers+1)))
	check("spec writes of NamespaceMaps, deleting", atMost(r.Delete.MapSpecWrites-r.Delete.MapSpecRefused, r.paced(r.Delete, specWritesApart)))
	check("status writes of NamespaceMaps, deleting", atMost(r.Delete.MapStatusWrites-r.Delete.MapStatusRefused, r.paced(r.Delete, statusWritesApart)))
	check("writes after a restart", exactly(r.Restart.Writes, 0))
	check("objects changed by a restart", exactly(len(r.ChangedByRestart), 0))
	check("writes that change nothing", exactly(r.Offload.NoOps+r.Restart.NoOps+r.Delete.NoOps, 0))
	for _, difference := range r.Differences {
		check("the transports and the audit logs", fmt.Errorf("%s", difference))
	}
	return broken
}

// paced returns how often all NamespaceMaps together, one for each provider, can have been written in a phase
// at that interval.
func (r Result) paced(p Phase, apart time.Duration) int {
	return r.Providers * (int(p.Counted/apart.Seconds()) + 1)
}

// BrokenGrowth returns the phases whose requests do not grow linearly with N; nothing if there are too few
// sizes. Bytes have no bound: each write of a map's status sends all N entries, and there are more writes in
// a longer phase.
func (r Report) BrokenGrowth() []error {
	var broken []error
	for _, phase := range []struct {
		name   string
		growth *Growth
	}{{"offloading", r.OffloadGrowth}, {"deleting", r.DeleteGrowth}} {
		if g := phase.growth; g != nil && (g.Square > mostSquare || g.Residual > mostResidual) {
			broken = append(broken, fmt.Errorf("%s does not grow linearly: %+v, want an N² term of at most %v, and no point further than %v off the line",
				phase.name, *g, mostSquare, mostResidual))
		}
	}
	return broken
}

// grow fits the growth and returns true if there are enough sizes.
func (r *Report) grow() bool {
	var sizes []int
	for _, result := range r.Results {
		if !slices.Contains(sizes, result.N) {
			sizes = append(sizes, result.N)
		}
	}
	if len(sizes) < growthSizes {
		return false
	}
	of := func(figure func(Result) float64) *Growth {
		var points []Point
		for _, result := range r.Results {
			points = append(points, Point{float64(result.N), figure(result)})
		}
		growth := GrowthOf(points)
		return &growth
	}
	r.OffloadGrowth = of(func(r Result) float64 { return float64(r.Offload.Requests) })
	r.DeleteGrowth = of(func(r Result) float64 { return float64(r.Delete.Requests) })
	r.OffloadKiB = of(func(r Result) float64 { return kib(r.Offload) })
	r.DeleteKiB = of(func(r Result) float64 { return kib(r.Delete) })
	return true
}

func kib(p Phase) float64 { return float64(p.BytesSent) / (1 << 10) }

// growthSizes is how many sizes are needed to tell a line from a parabola.
const growthSizes = 3
