//go:build bench

package performance

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// defaultIdle is how long TestIdle measures each state. IDLE=10m makes it longer.
const defaultIdle = 2 * time.Minute

// TestIdle measures the requests, watches and connections of an idle manager with more and more pods,
// namespaces and providers. They may not grow with pods or namespaces, and only by a fixed amount with each
// provider.
func TestIdle(t *testing.T) {
	idle, command := idleTime(t)
	report := IdleReport{Date: today(), Command: command}
	if !t.Run("one provider", func(t *testing.T) {
		s := startSite(t, "idle", 1, providers[:1])
		report.Machine = docs.ThisMachine(s.version(t))
		since := s.start(t)
		s.offload(t, 0, 1)
		report.States = append(report.States, s.idle(t, since, idle, 1))
		for _, pods := range []int{100, 500} {
			s.run(t, pods-s.pods, 0, 1)
			report.States = append(report.States, s.idle(t, since, idle, 1))
		}
		const more = 50
		s.offload(t, 1, 1+more)
		s.run(t, more, 1, 1+more)
		report.States = append(report.States, s.idle(t, since, idle, 1+more))
	}) {
		t.FailNow() // Nothing is left to compare with.
	}
	t.Run("three providers", func(t *testing.T) {
		s := startSite(t, "idle3", 1, providers)
		since := s.start(t)
		s.offload(t, 0, 1)
		const pods = 100
		s.run(t, pods, 0, 1)
		report.States = append(report.States, s.idle(t, since, idle, 1))
	})
	for _, state := range report.States {
		for _, broken := range state.Broken(report.States[0]) {
			t.Error(broken)
		}
	}
	publishPart(t, "idle", report, report.Markdown())
}

func idleTime(t *testing.T) (idle time.Duration, command string) {
	value := os.Getenv("IDLE")
	if value == "" {
		return defaultIdle, "make bench"
	}
	idle, err := time.ParseDuration(value)
	if err != nil || idle <= 0 {
		t.Fatalf("IDLE=%s is no time, such as 10m", value)
	}
	return idle, "IDLE=" + value + " make bench"
}

// idle waits until the manager has nothing left to do. Then it records the requests while nothing changes.
func (s *site) idle(t *testing.T, since time.Time, idle time.Duration, namespaces int) IdleState {
	s.settle(t, since)
	s.say("%d pods in %d namespaces: idle for %s", s.pods, namespaces, idle)
	before, figures := s.used(t), s.figures(t)
	state := IdleState{
		Providers: len(s.Providers), Pods: s.pods, Namespaces: namespaces, Seconds: idle.Seconds(), Requests: map[idleClass]int{},
		Watches: s.watches(t), Connections: s.connections(t),
	}
	select {
	case <-time.After(idle): // This is the measured time.
	case <-t.Context().Done():
	}
	for watch, n := range s.watches(t) { // A watch may have been closed for renewal at first.
		state.Watches[watch] = max(n, state.Watches[watch])
	}
	during := s.figures(t).Since(figures)
	state.CPUSeconds = s.used(t) - before
	for key, count := range during.Counts {
		state.Requests[classOf(key)] += count.Requests
	}
	state.Others = during.Rows(func(k requests.Key) bool { return classOf(k) == others })
	usage, heap := s.usage(t)
	state.HeapBytes, state.RSSBytes = heap, usage.RSS
	s.say("requests %v, %d watches, connections %v, heap %s MB", state.Requests, state.openWatches(), state.Connections, megabytes(heap))
	return state
}

// used returns the CPU seconds of the manager.
func (s *site) used(t *testing.T) float64 {
	usage, err := s.manager.Usage()
	must(t, err)
	return usage.CPUSeconds
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// publishPart prints the text of a part of the benchmark, and writes it and its figures to files.
func publishPart(t *testing.T, part string, report any, text string) {
	os.Stdout.WriteString("\n" + text + "\n")
	must(t, writeJSON(filepath.Join(outputDir(t), part+".json"), report))
	renewDocs(t, part, text)
}
