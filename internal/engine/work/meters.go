package work

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// meters are the metrics of controller-runtime's controllers, by kind: the same metrics that controller-runtime
// has registered.
type meters struct {
	total, errors, panics *prometheus.CounterVec
	seconds               *prometheus.HistogramVec
	active, most, depth   *prometheus.GaugeVec
}

// metered must not be called before main begins: controller-runtime must register its metrics first.
var metered = sync.OnceValue(func() *meters {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return existing(prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return existing(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
	}
	metrics.Registry.MustRegister(queues{})
	return &meters{
		total:  counter("controller_runtime_reconcile_total", "Total number of reconciliations per controller", "controller", "result"),
		errors: counter("controller_runtime_reconcile_errors_total", "Total number of reconciliation errors per controller", "controller"),
		panics: counter("controller_runtime_reconcile_panics_total", "Total number of reconciliation panics per controller", "controller"),
		seconds: existing(prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "controller_runtime_reconcile_time_seconds", Help: "Length of time per reconciliation per controller",
		}, []string{"controller"})),
		active: gauge("controller_runtime_active_workers", "Number of currently used workers per controller", "controller"),
		most:   gauge("controller_runtime_max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller", "controller"),
		depth:  gauge("workqueue_depth", "Current depth of workqueue by workqueue and priority", "name", "controller", "priority"),
	}
})

// existing returns the metric that is already registered under the name of like, or like itself. A test notices
// if controller-runtime's metrics differ.
func existing[V prometheus.Collector](like V) V {
	var already prometheus.AlreadyRegisteredError
	if errors.As(metrics.Registry.Register(like), &already) {
		if found, ok := already.ExistingCollector.(V); ok {
			return found
		}
	}
	return like
}

// live has all *Workers that run.
var live sync.Map

// queues are the metrics of all connections' queues together, computed when they are collected.
type queues struct{}

// Describe describes nothing: controller-runtime has the same metrics for other queues.
func (queues) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (queues) Collect(to chan<- prometheus.Metric) {
	waiting, hangs := 0, time.Duration(0)
	for workers := range live.Range {
		w := workers.(*Workers)
		waiting += w.queue.Len()
		for _, began := range w.began.Range {
			hangs = max(hangs, time.Since(began.(time.Time)))
		}
	}
	depth := prometheus.NewDesc("workqueue_depth", "Current depth of workqueue by workqueue and priority", []string{"name", "controller", "priority"}, nil)
	to <- prometheus.MustNewConstMetric(depth, prometheus.GaugeValue, float64(waiting), name, name, "")
	longest := prometheus.NewDesc("workqueue_longest_running_processor_seconds", "How many seconds has the longest running processor for workqueue been running.", []string{"name", "controller"}, nil)
	to <- prometheus.MustNewConstMetric(longest, prometheus.GaugeValue, hangs.Seconds(), name, name)
}

// waiting is the number of pending keys of a kind: the queue does not count them.
func (m *meters) waiting(kind string, priority int) prometheus.Gauge {
	return m.depth.WithLabelValues(kind, kind, strconv.Itoa(priority))
}

// ended counts a reconcile.
func (m *meters) ended(kind, result string) { m.total.WithLabelValues(kind, result).Inc() }
