//go:build bench

package performance

import (
	"os"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

// defaultIdle is how long TestIdle measures each state. IDLE=10m makes it longer.
const defaultIdle = 2 * time.Minute

// TestIdle measures the requests, watches and connections of an idle manager with more and more pods,
// namespaces and providers. They may not grow with pods or namespaces, and only by a fixed amount with each
// provider.
func TestIdle(t *testing.T) {
	idle := idleTime(t)
	var states []idleState
	if !t.Run("one provider", func(t *testing.T) {
		s := startSite(t, "idle", 1, providers[:1])
		since := s.start(t)
		s.offload(t, 0, 1)
		states = append(states, s.idle(t, since, idle, 1))
		for _, pods := range []int{100, 500} {
			s.run(t, pods-s.pods, 0, 1)
			states = append(states, s.idle(t, since, idle, 1))
		}
		const more = 50
		s.offload(t, 1, 1+more)
		s.run(t, more, 1, 1+more)
		states = append(states, s.idle(t, since, idle, 1+more))
	}) {
		t.FailNow() // Nothing is left to compare with.
	}
	t.Run("three providers", func(t *testing.T) {
		s := startSite(t, "idle3", 1, providers)
		since := s.start(t)
		s.offload(t, 0, 1)
		const pods = 100
		s.run(t, pods, 0, 1)
		states = append(states, s.idle(t, since, idle, 1))
	})
	var columns []column
	for _, state := range states {
		columns = append(columns, column{state.String(), state.figures(states[0])})
	}
	show(t, "idle for "+idle.String(), columns...)
}

func idleTime(t *testing.T) time.Duration {
	value := os.Getenv("IDLE")
	if value == "" {
		return defaultIdle
	}
	idle, err := time.ParseDuration(value)
	if err != nil || idle <= 0 {
		t.Fatalf("IDLE=%s is no time, such as 10m", value)
	}
	return idle
}

// idle waits until the manager has nothing left to do. Then it records the requests while nothing changes.
func (s *site) idle(t *testing.T, since time.Time, idle time.Duration, namespaces int) idleState {
	s.settle(t, since)
	s.say("%d pods in %d namespaces: idle for %s", s.pods, namespaces, idle)
	before, figures := s.used(t), s.figures(t)
	state := idleState{
		pods: s.pods, namespaces: namespaces, idle: idle, requests: map[idleClass]int{},
		watches: s.watches(t), connections: s.connections(t),
	}
	select {
	case <-time.After(idle): // This is the measured time.
	case <-t.Context().Done():
	}
	for watch, n := range s.watches(t) { // A watch may have been closed for renewal at first.
		state.watches[watch] = max(n, state.watches[watch])
	}
	during := s.figures(t).Since(figures)
	state.cpuSeconds = s.used(t) - before
	for key, count := range during.Counts {
		state.requests[classOf(key)] += count.Requests
	}
	s.logOthers(t, during)
	usage, heap := s.usage(t)
	state.heap, state.rss = heap, usage.RSS
	s.say("requests %v, %d watches, connections %v, heap %.1f MB", state.requests, state.openWatches(), state.connections, inMB(heap))
	return state
}

// logOthers logs the requests that are not periodic, and returns their number.
func (s *site) logOthers(t *testing.T, during requests.Figures) int {
	total := 0
	for _, row := range during.Rows(func(k requests.Key) bool { return classOf(k) == others }) {
		t.Logf("%d times %s in cluster %s", row.Requests, what(row.Key), row.Cluster)
		total += row.Requests
	}
	return total
}

// used returns the CPU seconds of the manager.
func (s *site) used(t *testing.T) float64 {
	usage, err := s.manager.Usage()
	must(t, err)
	return usage.CPUSeconds
}
