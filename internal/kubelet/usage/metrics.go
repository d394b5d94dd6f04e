package usage

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// The metrics of a kubelet's /metrics/resource that metrics-server reads.
var (
	nodeCPU      = prometheus.NewDesc("node_cpu_usage_seconds_total", "Cumulative CPU time that all offloaded pods of the node have used, in core-seconds", nil, nil)
	nodeMemory   = prometheus.NewDesc("node_memory_working_set_bytes", "Working set of all offloaded pods of the node, in bytes", nil, nil)
	labels       = []string{"container", "namespace", "pod"}
	cpu          = prometheus.NewDesc("container_cpu_usage_seconds_total", "Cumulative CPU time that the container has used, in core-seconds", labels, nil)
	memory       = prometheus.NewDesc("container_memory_working_set_bytes", "Working set of the container, in bytes", labels, nil)
	containerAge = prometheus.NewDesc("container_start_time_seconds", "When the CPU time of the container was zero, in seconds since 1970", labels, nil)
)

// Metrics returns the counters after the last reading. They do not change afterwards.
//
// The node's counter is the sum of its pods, and has no start time. When the counters begin again, the node
// is left out once, so that metrics-server forgets the earlier value.
func (m *Meter) Metrics() Metrics {
	all := m.MetricsOf(func(types.NamespacedName) bool { return true })
	if m.nodeShown {
		all.add(nodeCPU, prometheus.CounterValue, m.node.at, m.node.seconds)
		all.add(nodeMemory, prometheus.GaugeValue, m.node.at, m.node.bytes)
	}
	return all
}

// MetricsOf returns the counters of the pods for which on is true. There is none of the node: a sum of these pods would
// decrease when one of them ends.
func (m *Meter) MetricsOf(on func(pod types.NamespacedName) bool) Metrics {
	var all Metrics
	for of, c := range m.counters {
		if !on(of.Pod) {
			continue
		}
		names := []string{of.Name, of.Pod.Namespace, of.Pod.Name}
		all.add(cpu, prometheus.CounterValue, c.at, c.seconds, names...)
		all.add(memory, prometheus.GaugeValue, c.at, c.bytes, names...)
		all.add(containerAge, prometheus.GaugeValue, c.at, float64(c.began.UnixMilli())/1000, names...)
	}
	return all
}

// Metrics implement prometheus.Collector.
type Metrics []prometheus.Metric

func (all *Metrics) add(desc *prometheus.Desc, kind prometheus.ValueType, at time.Time, value float64, labels ...string) {
	*all = append(*all, prometheus.NewMetricWithTimestamp(at, prometheus.MustNewConstMetric(desc, kind, value, labels...)))
}

// Describe implements prometheus.Collector.
func (Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{nodeCPU, nodeMemory, cpu, memory, containerAge} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (all Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, metric := range all {
		metrics <- metric
	}
}
