//go:build bench

package performance

import (
	"fmt"
	"testing"
	"time"

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
	since := s.start(t)
	s.offload(t, 0, namespaces)
	var columns []column
	var first requests.Figures
	for i, pods := range []int{500, 2000} {
		s.run(t, pods-s.pods, 0, namespaces)
		s.settle(t, since)
		during, figures := s.restart(t)
		if i == 0 {
			first = during
		}
		columns = append(columns, column{fmt.Sprintf("%d in %d", pods, namespaces), append(figures, reads(during, first)...)})
	}
	show(t, "a start over pods in namespaces", columns...)
}

// timeless leaves out what a manager sends as time goes by. It takes the Leases of its providers, and records
// that in the bindings; the versions of the bindings show whether anything else has changed.
func timeless(k requests.Key) bool {
	remembers := k.Verb == requests.Patch && k.Resource == "clusterbindings" && k.Subresource == "status"
	return k.Class != requests.Leases && k.Class != requests.Probes && !remembers
}

// restart stops the manager, starts another one, and waits until it is done.
func (s *site) restart(t *testing.T) (requests.Figures, []figure) {
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
	last := s.last(t, timeless)
	s.settle(t, since)
	during := s.figures(t).Since(figures)
	usage, heap := s.usage(t)
	after, err := s.Versions(t.Context())
	must(t, err)
	for _, row := range during.Rows(timeless, requests.Writes) {
		t.Logf("written after a restart: %d times %s in cluster %s", row.Requests, what(row.Key), row.Cluster)
	}
	return during, []figure{
		count("writes", during.Sum(timeless, requests.Writes).Requests).exactly(0),
		count("objects changed", len(changed(t, versions, after))).exactly(0),
		measured("seconds until the last request of the start", "%.1f", last.Sub(since).Seconds()),
		measured("CPU seconds", "%.1f", usage.CPUSeconds),
		measured("heap, MB", "%.1f", inMB(heap)),
		measured("peak RSS, MB", "%.1f", inMB(usage.PeakRSS)),
	}
}

// reads returns the numbers of reads. They must be the same as in the first start. If there are none in the
// consumer or in the provider, the zero of the writes proves nothing.
func reads(during, first requests.Figures) []figure {
	isRead := requests.Not(requests.Writes)
	figures := []figure{
		count("reads in the consumer", during.Sum(timeless, isRead, requests.Cluster(consumer)).Requests).atLeast(1),
		count("reads in the provider", during.Sum(timeless, isRead, requests.Not(requests.Cluster(consumer))).Requests).atLeast(1),
	}
	for key := range during.Counts {
		if _, known := first.Counts[key]; !known {
			first.Counts[key] = requests.Count{}
		}
	}
	for _, row := range first.Rows(timeless, isRead) {
		figures = append(figures, count(row.Cluster+": "+what(row.Key), during.Counts[row.Key].Requests).exactly(row.Requests))
	}
	return figures
}
