package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/kubelet/usage"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// Intervals between the requests for the metrics of one provider. Providers are asked only when somebody asks
// the manager, and not more often than their values change. metrics-server reads each node every 15 seconds
// by default, and every 10 at most.
const (
	seldom = time.Minute
	often  = 10 * time.Second
	// metricsTimeout is how long a request may take. metrics-server waits for 10 seconds.
	metricsTimeout = 5 * time.Second
)

// Usage is what is known about the pods of virtual nodes.
type Usage interface {
	// bindingOf returns the ClusterBinding of a node, or says why there are no metrics for the node.
	bindingOf(ctx context.Context, node string) (binding string, refusal *kubeletapi.Refusal, err error)
	// several reports whether a binding has several virtual nodes.
	several(binding string) bool
	// readings asks the provider of a binding. It may wait.
	readings(ctx context.Context, binding string) (map[usage.Container]usage.Reading, error)
}

// resources answers requests for /metrics/resource of virtual nodes. It holds only the counters of the
// containers of existing pods, and nothing while nobody asks.
type resources struct {
	usage Usage
	clock clock.PassiveClock

	mu     sync.Mutex
	meters map[string]*meter // By ClusterBinding.
}

func newResources(from Usage, with clock.PassiveClock) *resources {
	return &resources{usage: from, clock: with, meters: map[string]*meter{}}
}

// meter has the metrics of one binding. While its provider is being asked, other requests for the same
// binding wait for that answer.
type meter struct {
	turn    chan struct{} // Holds a value while somebody uses the fields below.
	counted usage.Meter
	shown   bool      // The last request has succeeded.
	failed  error     // The error of the last request, or nil.
	again   time.Time // When to ask again, at the earliest.
}

// serve answers an authorised request for the metrics of a node.
func (s *resources) serve(w http.ResponseWriter, r *http.Request, node string) *kubeletapi.Refusal {
	binding, refusal, err := s.usage.bindingOf(r.Context(), node)
	if err != nil {
		return internal(r.Context(), err)
	}
	if refusal != nil {
		return refusal
	}
	if !s.usage.several(binding) {
		node = ""
	}
	metrics, err := s.meter(binding).read(r.Context(), s, binding, node)
	if err != nil {
		_, why := transport.Classify(err)
		return &kubeletapi.Refusal{Code: http.StatusBadGateway, Message: fmt.Sprintf("the metrics of the provider of ClusterBinding %s cannot be read: %s", binding, why)}
	}
	registry := prometheus.NewRegistry()
	if err := registry.Register(metrics); err != nil {
		return internal(r.Context(), err)
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	return nil
}

// meter returns the meter of a binding. It drops those that nobody has used in a long time.
func (s *resources) meter(binding string) *meter {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, m := range s.meters {
		if name != binding && m.unused(s.clock.Now()) {
			delete(s.meters, name)
		}
	}
	m, ok := s.meters[binding]
	if !ok {
		m = &meter{turn: make(chan struct{}, 1)}
		s.meters[binding] = m
	}
	return m
}

// unused returns false for a meter that is in use.
func (m *meter) unused(now time.Time) bool {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
		return now.Sub(m.again) > usage.Longest
	default:
		return false
	}
}

// read returns the metrics of one of the nodes of a binding; "": of all. It asks the provider first, if it is time. If a
// provider gives none, and the binding says why, there are no metrics and no error, because metrics-server would log each
// error.
func (m *meter) read(ctx context.Context, s *resources, binding, node string) (usage.Metrics, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !m.again.IsZero() && s.clock.Now().Before(m.again) {
		return m.of(node), m.failed
	}
	// The client may leave before the answer, which is for others too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), metricsTimeout)
	defer cancel()
	readings, err := s.usage.readings(ctx, binding)
	now := s.clock.Now()
	m.again, m.failed, m.shown = now.Add(often), err, false
	var none fleet.NoPodMetricsError
	switch {
	case errors.As(err, &none):
		m.failed, m.counted = nil, usage.Meter{}
	case err == nil:
		m.counted.Read(readings, now)
		m.shown, m.again = true, now.Add(usage.Pause(readings, often, seldom))
	}
	return m.of(node), m.failed
}

// of returns what is shown of a node; "": of all.
func (m *meter) of(node string) usage.Metrics {
	if !m.shown {
		return nil
	}
	return m.counted.Metrics(node)
}
