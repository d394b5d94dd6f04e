package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spillway-io/spillway/internal/provider/connection"
)

var (
	usedMemoryDesc = prometheus.NewDesc("spillway_provider_memory_bytes",
		"Memory in the caches of a connected provider, as counted against spec.budget.memory.", []string{"cluster"}, nil)
	maxMemoryDesc = prometheus.NewDesc("spillway_provider_memory_limit_bytes",
		"spec.budget.memory of a connected provider: beyond it the connection ends.", []string{"cluster"}, nil)
	usedObjectsDesc = prometheus.NewDesc("spillway_provider_objects",
		"How many objects the caches of a connected provider hold.", []string{"cluster"}, nil)
	maxObjectsDesc = prometheus.NewDesc("spillway_provider_objects_limit",
		"spec.budget.objects of a connected provider: beyond it the connection ends.", []string{"cluster"}, nil)
)

// Usage collects how much of their budgets connected providers use.
type Usage struct {
	Of func() []connection.Usage
}

// Describe implements prometheus.Collector.
func (*Usage) Describe(to chan<- *prometheus.Desc) {
	describe(to, usedMemoryDesc, maxMemoryDesc, usedObjectsDesc, maxObjectsDesc)
}

// Collect implements prometheus.Collector.
func (u *Usage) Collect(values chan<- prometheus.Metric) {
	collected := map[string]bool{}
	for _, usage := range u.Of() {
		if collected[usage.ClusterID] {
			continue // Two bindings share the clusterID. One duplicate fails all metrics.
		}
		collected[usage.ClusterID] = true
		for desc, value := range map[*prometheus.Desc]float64{
			usedMemoryDesc: float64(usage.Memory), maxMemoryDesc: float64(usage.MaxMemory),
			usedObjectsDesc: float64(usage.Objects), maxObjectsDesc: float64(usage.MaxObjects),
		} {
			values <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, usage.ClusterID)
		}
	}
}
