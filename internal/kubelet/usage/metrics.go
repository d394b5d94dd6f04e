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

// Metrics returns the counters after the last reading, of the containers on one virtual node; "": on all. They do not change
// afterwards.
//
// The node's counter is the sum of its pods, and has no start time. When the counters begin again, the node
// is left out once, so that metrics-server forgets the earlier value.
func (m *Meter) Metrics(node string) Metrics {
	var all Metrics
	for of, c := range m.counters {
		if node != "" && m.on[of] != node {
			continue
		}
		names := []string{of.Name, of.Pod.Namespace, of.Pod.Name}
		all.add(cpu, prometheus.CounterValue, c.at, c.seconds, names...)
		all.add(memory, prometheus.GaugeValue, c.at, c.bytes, names...)
		all.add(containerAge, prometheus.GaugeValue, c.at, float64(c.began.UnixMilli())/1000, names...)
	}
	if m.nodeShown {
		sum := m.sumOf(node)
		all.add(nodeCPU, prometheus.CounterValue, sum.at, sum.seconds)
		all.add(nodeMemory, prometheus.GaugeValue, sum.at, sum.bytes)
	}
	return all
}

// sumOf returns the counter of a node. One that never had a container has used the least that there is.
func (m *Meter) sumOf(node string) counter {
	if node == "" {
		return m.node
	}
	if sum, known := m.nodes[node]; known {
		return sum
	}
	return counter{at: m.at, seconds: leastSeconds, bytes: leastBytes}
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
