//go:build bench

package performance

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// TestBindings measures what each of many idle bindings to one provider costs, and how long a start takes
// with all of them. PROFILE=20 writes profiles of the idle manager and of the start.
func TestBindings(t *testing.T) {
	idle, command := idleTime(t)
	s := startSite(t, "bindings", 0, providers[:1])
	report := BindingsReport{Date: today(), Command: command, Machine: docs.ThisMachine(s.version(t))}
	since := s.start(t)
	report.One = s.idleBindings(t, since, idle, 1)
	s.say("making %d more bindings", manyBindings)
	made := time.Now()
	must(t, s.BindMore(t.Context(), s.Providers[0], manyBindings))
	must(t, rig.Eventually(t.Context(), patience, s.Bound))
	report.ReadySeconds = time.Since(made).Seconds()
	s.say("all are Ready after %.1f s", report.ReadySeconds)
	profiled := s.profile(t, "idle")
	report.Many = s.idleBindings(t, since, idle, 1+manyBindings)
	must(t, <-profiled)
	s.stop(t)
	figures := s.figures(t)
	since = s.start(t)
	profiled = s.profile(t, "start")
	engaged, err := s.Engaged(t.Context(), since, patience)
	must(t, err, <-profiled)
	report.StartSeconds, report.StartCPU = engaged.Sub(since).Seconds(), s.used(t)
	s.say("all are engaged %.1f s after the start", report.StartSeconds)
	for _, row := range s.figures(t).Since(figures).Rows() {
		s.say("%6d %s in %s", row.Requests, what(row.Key), row.Cluster)
	}
	for _, broken := range report.Broken() {
		t.Error(broken)
	}
	publishPart(t, "bindings", report, report.Markdown())
}

// idleBindings measures an idle manager with so many bindings.
func (s *site) idleBindings(t *testing.T, since time.Time, idle time.Duration, bindings int) BindingsState {
	state := BindingsState{Bindings: bindings, IdleState: s.idle(t, since, idle, 0)}
	for _, row := range state.Others {
		t.Errorf("%d bindings: %d times %s in cluster %s, with nothing to do", bindings, row.Requests, what(row.Key), row.Cluster)
	}
	var err1, err2 error
	state.StackBytes, err1 = s.manager.Stacks(t.Context())
	state.Goroutines, err2 = s.manager.Goroutines(t.Context())
	must(t, err1, err2)
	s.say("%d goroutines, stacks %s MB", state.goroutines(), megabytes(state.StackBytes))
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
