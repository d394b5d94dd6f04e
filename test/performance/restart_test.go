//go:build bench

package performance

import (
	"maps"
	"testing"

	"github.com/spillway-io/spillway/test/requests"
)

// TestRestart measures what a manager asks that starts over pods which are all
// as they should be: it writes nothing, and how often it reads does not depend
// on how many there are.
func TestRestart(t *testing.T) {
	const nodes, namespaces = 3, 10
	s := startSite(t, "restart", nodes, providers[:1])
	report := RestartReport{Date: today(), Command: "make bench", Machine: thisMachine(s.version(t))}
	since := s.start(t)
	s.offload(t, 0, namespaces)
	for _, pods := range []int{500, 2000} {
		s.run(t, pods-s.pods, 0, namespaces)
		s.settle(t, since)
		result := s.restart(t, namespaces)
		report.Results = append(report.Results, result)
		checkRestart(t, result, report.Results[0])
	}
	publishPart(t, "restart", report, report.Markdown())
}

// restart stops the manager, starts another one, and waits until it is done.
func (s *site) restart(t *testing.T, namespaces int) RestartResult {
	s.say("restarting the manager over %d pods", s.pods)
	s.stop(t)
	versions, err := s.Versions(t.Context())
	must(t, err)
	figures := s.figures(t)
	since := s.start(t)
	s.settle(t, since)
	during := s.figures(t).Since(figures)
	last := s.lastWork(t)
	usage, heap := s.usage(t)
	after, err := s.Versions(t.Context())
	must(t, err)
	timeless := func(k requests.Key) bool { return k.Class != requests.Leases && k.Class != requests.Probes }
	result := RestartResult{
		Pods: s.pods, Namespaces: namespaces, Seconds: last.Sub(since).Seconds(), CPUSeconds: usage.CPUSeconds,
		Writes: during.Sum(timeless, requests.Writes).Requests, Changed: changed(versions, after), Rows: during.Rows(timeless),
		HeapBytes: heap, PeakRSSBytes: usage.PeakRSS,
	}
	s.say("done after %.1f s, %d writes, %d objects changed", result.Seconds, result.Writes, len(result.Changed))
	return result
}

func checkRestart(t *testing.T, r, first RestartResult) {
	for what, wrong := range map[string]error{
		"writes after a restart":       exactly(r.Writes, 0),
		"objects changed by a restart": exactly(len(r.Changed), 0),
	} {
		if wrong != nil {
			t.Errorf("%d pods: %s: %v", r.Pods, what, wrong)
		}
	}
	for _, row := range r.Rows {
		if requests.Writes(row.Key) {
			t.Logf("%d pods: written after a restart: %d times %s in cluster %s", r.Pods, row.Requests, what(row.Key), row.Cluster)
		}
	}
	if !maps.Equal(r.reading(), first.reading()) {
		t.Errorf("%d pods: read after a restart: %v, and with %d pods: %v", r.Pods, r.reading(), first.Pods, first.reading())
	}
}
