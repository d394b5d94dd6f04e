//go:build bench

package performance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// manyBindings is how many bindings are added to the first one.
const manyBindings = 100

// Bounds for what an idle binding costs. They do not depend on the machine.
const (
	mostBindingMB         = 1
	mostBindingGoroutines = 100
	mostBindingWatches    = 12
)

// bindingsState is what an idle manager uses with so many bindings to one provider.
type bindingsState struct {
	idleState
	stacks int64
	// goroutines counts by the function that they wait in.
	goroutines map[string]int
}

// TestBindings measures what each of many idle bindings to one provider costs, and how long a start takes
// with all of them. PROFILE=20 writes profiles of the idle manager and of the start.
func TestBindings(t *testing.T) {
	idle := idleTime(t)
	s := startSite(t, "bindings", 0, providers[:1])
	since := s.start(t)
	one := s.idleBindings(t, since, idle)
	s.say("making %d more bindings", manyBindings)
	made := time.Now()
	must(t, s.BindMore(t.Context(), s.Providers[0], manyBindings))
	must(t, rig.Eventually(t.Context(), patience, s.Bound))
	bound := time.Since(made)
	profiled := s.profile(t, "idle")
	many := s.idleBindings(t, since, idle)
	must(t, <-profiled)
	s.stop(t)
	before := s.figures(t)
	since = s.start(t)
	profiled = s.profile(t, "start")
	engaged, err := s.Engaged(t.Context(), since, patience)
	must(t, err, <-profiled)
	s.say("requests of the start:\n%s", requestsOf(s.figures(t).Since(before), 1+manyBindings))

	show(t, "a binding", column{"", append(each(one, many), waitsOfEach(one, many)...)})
	show(t, fmt.Sprintf("%d bindings", 1+manyBindings), column{"", []figure{
		measured("RSS, MiB", "%.0f", float64(many.rss)/(1<<20)),
		measured("CPU, % of a core", "%.1f", 100*many.cpuSeconds/idle.Seconds()),
		measured(fmt.Sprintf("%d more are Ready after, s", manyBindings), "%.1f", bound.Seconds()),
		measured("engaged after a start, s", "%.1f", engaged.Sub(since).Seconds()),
		measured("CPU seconds of the start", "%.1f", s.used(t)),
	}})
}

// each returns what one binding adds.
func each(one, many bindingsState) []figure {
	of := func(what, format string, figure func(bindingsState) float64) figure {
		return measured(what, format, (figure(many)-figure(one))/manyBindings)
	}
	return []figure{
		of("heap and stacks, MB", "%.2f", func(s bindingsState) float64 { return inMB(s.heap + s.stacks) }).atMost(mostBindingMB),
		of("goroutines", "%.1f", func(s bindingsState) float64 { return float64(sum(s.goroutines)) }).atMost(mostBindingGoroutines),
		of("open watches", "%.1f", func(s bindingsState) float64 { return float64(s.openWatches()) }).atMost(mostBindingWatches),
	}
}

// waitsOfEach returns the functions that most goroutines of a binding wait in.
func waitsOfEach(one, many bindingsState) []figure {
	const most = 10
	waits := map[string]int{}
	for function, n := range many.goroutines {
		waits[function] = n - one.goroutines[function]
	}
	var figures []figure
	for _, function := range slices.SortedFunc(maps.Keys(waits), func(a, b string) int {
		return cmp.Or(cmp.Compare(waits[b], waits[a]), cmp.Compare(a, b))
	}) {
		figures = append(figures, measured("of these in "+function, "%.2f", float64(waits[function])/manyBindings))
	}
	return figures[:min(most, len(figures))]
}

// idleBindings measures an idle manager.
func (s *site) idleBindings(t *testing.T, since time.Time, idle time.Duration) bindingsState {
	state := bindingsState{idleState: s.idle(t, since, idle, 0)}
	if n := state.requests[others]; n > 0 {
		t.Errorf("%d requests with nothing to do", n)
	}
	var err1, err2 error
	state.stacks, err1 = s.manager.Stacks(t.Context())
	state.goroutines, err2 = s.manager.Goroutines(t.Context())
	must(t, err1, err2)
	s.say("%d goroutines, stacks %.1f MB", sum(state.goroutines), inMB(state.stacks))
	return state
}

// profile writes a CPU profile to bin/bench. PROFILE is its length in seconds; if empty, there is none. The
// channel receives the result or is closed.
func (s *site) profile(t *testing.T, of string) <-chan error {
	done, seconds, file := make(chan error, 1), os.Getenv("PROFILE"), filepath.Join(outputDir(t), s.name+"-"+of+".pprof")
	if seconds == "" {
		close(done)
		return done
	}
	go func(ctx context.Context) { done <- s.manager.WriteProfile(ctx, "profile?seconds="+seconds, file) }(t.Context())
	return done
}
