//go:build bench

package performance

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/metrics"
)

// reactions looks at the transports of a manager: when the first byte of a watch
// of pods comes in from a provider, and when the next status of a pod is sent to
// the consumer. With one change at a time, the second comes of the first.
type reactions struct {
	consumer string

	mu      sync.Mutex
	waiting bool
	arrived time.Time
	all     []time.Duration
}

func newReactions(consumer string) *reactions { return &reactions{consumer: consumer} }

// expect makes the next change count.
func (r *reactions) expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting, r.arrived = true, time.Time{}
}

func (r *reactions) noteArrival() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting && r.arrived.IsZero() {
		r.arrived = time.Now()
	}
}

func (r *reactions) noteWrite() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting && !r.arrived.IsZero() {
		r.all = append(r.all, time.Since(r.arrived))
		r.waiting = false
	}
}

func (r *reactions) quantiles() Reaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	timing := timingOf(r.all, 0)
	return Reaction{P50: timing.P50, P99: timing.P99}
}

func (r *reactions) wrap(cluster string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		pods := strings.Contains(request.URL.Path, "/pods")
		if pods && cluster == r.consumer && request.Method == http.MethodPatch {
			r.noteWrite()
		}
		response, err := next.RoundTrip(request)
		if err == nil && pods && cluster != r.consumer && request.URL.Query().Has("watch") {
			response.Body = &arrivals{response.Body, r}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// arrivals is the body of a watch.
type arrivals struct {
	io.ReadCloser
	reactions *reactions
}

func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 {
		a.reactions.noteArrival()
	}
	return n, err
}

// patchRemote patches the status of the one remote pod there is.
func (r *rollOut) patchRemote(ctx context.Context, patch []byte) error {
	_, err := r.providers[0].CoreV1().Pods(r.remoteNamespace(Ours)).
		Patch(ctx, podName(0), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// histogram is one of the manager's: the cumulated counts by their bounds.
type histogram struct {
	bounds []float64
	counts []uint64
}

// podStatusHistogram adds up what the manager in this process has observed for
// all providers.
func podStatusHistogram(t *testing.T) histogram {
	t.Helper()
	registry := prometheus.NewRegistry()
	must(t, registry.Register(metrics.PodStatus))
	families, err := registry.Gather()
	must(t, err)
	var h histogram
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for i, bucket := range metric.GetHistogram().GetBucket() {
				if i == len(h.bounds) {
					h.bounds, h.counts = append(h.bounds, bucket.GetUpperBound()), append(h.counts, 0)
				}
				h.counts[i] += bucket.GetCumulativeCount()
			}
		}
	}
	return h
}

func (h histogram) since(before histogram) histogram {
	for i := range before.counts {
		h.counts[i] -= before.counts[i]
	}
	return h
}

func (h histogram) reaction() Reaction { return Reaction{P50: h.quantile(0.5), P99: h.quantile(0.99)} }

// quantile is the bound of the bucket that q falls into.
func (h histogram) quantile(q float64) float64 {
	for i, count := range h.counts {
		if total := h.counts[len(h.counts)-1]; total > 0 && float64(count) >= q*float64(total) {
			return h.bounds[i]
		}
	}
	return 0
}
