//go:build bench

package performance

import (
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// startFor is how long the requests of a start are counted. It is much longer than a start, and much shorter
// than the time until the first watch is renewed.
const startFor = 10 * time.Second

// TestRestart measures the requests of a manager that starts while all pods are up to date. It writes
// nothing, and the number of its reads does not depend on the number of pods.
func TestRestart(t *testing.T) {
	const nodes, namespaces = 3, 10
	s := startSite(t, "restart", nodes, providers[:1])
	report := RestartReport{Date: today(), Command: "make bench", Machine: docs.ThisMachine(s.version(t))}
	since := s.start(t)
	s.offload(t, 0, namespaces)
	for _, pods := range []int{500, 2000} {
		s.run(t, pods-s.pods, 0, namespaces)
		s.settle(t, since)
		result := s.restart(t, namespaces)
		report.Results = append(report.Results, result)
		for _, broken := range result.Broken(report.Results[0]) {
			t.Error(broken)
		}
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
	select {
	case <-time.After(time.Until(since.Add(startFor))): // Later requests do not belong to the start.
	case <-t.Context().Done():
	}
	// A manager takes the Leases of its providers, and records that in the bindings. Their versions show
	// whether anything else has changed.
	timeless := func(k requests.Key) bool {
		remembers := k.Verb == requests.Patch && k.Resource == "clusterbindings" && k.Subresource == "status"
		return k.Class != requests.Leases && k.Class != requests.Probes && !remembers
	}
	last := s.last(t, timeless)
	s.settle(t, since)
	during := s.figures(t).Since(figures)
	usage, heap := s.usage(t)
	after, err := s.Versions(t.Context())
	must(t, err)
	result := RestartResult{
		Pods: s.pods, Namespaces: namespaces, Seconds: last.Sub(since).Seconds(), CPUSeconds: usage.CPUSeconds,
		Writes: during.Sum(timeless, requests.Writes).Requests, Changed: changed(versions, after), Rows: during.Rows(timeless),
		HeapBytes: heap, PeakRSSBytes: usage.PeakRSS,
	}
	s.say("done after %.1f s, %d writes, %d objects changed", result.Seconds, result.Writes, len(result.Changed))
	return result
}
