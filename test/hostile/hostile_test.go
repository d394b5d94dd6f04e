package hostile

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	// memoryLimit is the memory that the process may use, as GOMEMLIMIT would set it. It includes this test's
	// own clients of the clusters.
	memoryLimit = 256 << 20
	// mostPages limits the number of further pages of one list. mostRequests limits the other requests to the
	// hostile provider in one attack. Lists and watches begin a hundred times and then at most once a second,
	// and the manager waits before it connects again.
	mostPages    = 2000
	mostRequests = 250
)

func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts control planes")
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memoryLimit))
	s := up(t)
	s.round(t, "warm")
	calm := s.round(t, "calm")
	t.Run("a status that changes a hundred times a second", s.flapping)
	t.Run("pods that are ended as soon as they come", s.reaping)
	t.Run("a namespace that claims to stand for one that never asked for it", s.trapping)
	for i, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			heap := watchHeap()
			s.front.set(a.attack)
			s.connectAnew(t)
			meanwhile := s.round(t, fmt.Sprintf("attack-%d", i))
			s.eventually(t, "the binding to say what is wrong", func(ctx context.Context) error {
				reason, message, err := s.connected(ctx)
				if err == nil && (reason != a.reason || !strings.Contains(message, a.message)) {
					err = fmt.Errorf("Connected has reason %s: %s; want %s: %s", reason, message, a.reason, a.message)
				}
				return err
			})
			asked, longest := s.front.requests.Load(), s.front.longest.Load()
			if besides := asked - s.front.pages.Load(); besides > mostRequests || longest > mostPages {
				t.Errorf("the hostile provider was asked for %d things besides pages, and a list went on for %d; want at most %d, and %d",
					besides, longest, mostRequests, mostPages)
			}
			peak := heap()
			if peak > memoryLimit {
				t.Errorf("the heap took %d MiB, want at most %d", peak>>20, memoryLimit>>20)
			}
			t.Logf("heap at most %d MiB; %d requests to the hostile provider; pods of the good one run after %s, %.1f times as long as when all is calm",
				peak>>20, asked, p99(meanwhile), p99(meanwhile).Seconds()/p99(calm).Seconds())
			s.peace(t)
		})
	}
	t.Run("a team that has more than fits into memory", s.hoarding)
}

// peace ends an attack, and waits until the binding is Ready again.
func (s *setup) peace(t *testing.T) {
	t.Helper()
	s.front.set(nil)
	s.connectAnew(t)
	s.eventually(t, "the bindings to be Ready again", func(ctx context.Context) error {
		reason, message, err := s.connected(ctx)
		if err == nil && reason != v1alpha1.ReasonConnected {
			err = fmt.Errorf("Connected has reason %s: %s", reason, message)
		}
		return err
	})
}

// p99 returns the 99th percentile of sorted times.
func p99(sorted []time.Duration) time.Duration { return sorted[len(sorted)*99/100] }

// watchHeap measures the heap. The function that it returns ends this, and returns the largest size.
func watchHeap() (most func() uint64) {
	const name = "/memory/classes/heap/objects:bytes"
	done, result := make(chan struct{}), make(chan uint64)
	go func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		var peak uint64
		for {
			sample := []metrics.Sample{{Name: name}}
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-ticker.C:
			case <-done:
				result <- peak
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-result
	}
}
