package usage

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	var all Metrics
	add := func(desc *prometheus.Desc, kind prometheus.ValueType, at time.Time, value float64, labels ...string) {
		all = append(all, prometheus.NewMetricWithTimestamp(at, prometheus.MustNewConstMetric(desc, kind, value, labels...)))
	}
	for of, c := range m.counters {
		names := []string{of.Name, of.Pod.Namespace, of.Pod.Name}
		add(cpu, prometheus.CounterValue, c.at, c.seconds, names...)
		add(memory, prometheus.GaugeValue, c.at, c.bytes, names...)
		add(containerAge, prometheus.GaugeValue, c.at, float64(c.began.UnixMilli())/1000, names...)
	}
	if m.nodeShown {
		add(nodeCPU, prometheus.CounterValue, m.node.at, m.node.seconds)
		add(nodeMemory, prometheus.GaugeValue, m.node.at, m.node.bytes)
	}
	return all
}

// Metrics implement prometheus.Collector.
type Metrics []prometheus.Metric

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
