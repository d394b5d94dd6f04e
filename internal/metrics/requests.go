package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/quota"
)

// ordinary are the resources that every pod may request. Of all others, devices and sizes of hugepages, mostExtended are
// shown of one binding: pods may name any.
var ordinary = []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

const mostExtended = 16

var requestsDesc = prometheus.NewDesc("spillway_offloaded_requests",
	"What the pods of a namespace request that were sent to a provider and have not ended, in cores, bytes, or pieces.", []string{"namespace", "binding", "resource"}, nil)

// Requests reads the caches of the ClusterBindings on each scrape.
type Requests struct {
	// Views returns the existing caches, by the name of the ClusterBinding.
	Views func() map[string]*views.View
}

var _ prometheus.Collector = &Requests{}

// Describe implements prometheus.Collector.
func (*Requests) Describe(to chan<- *prometheus.Desc) { describe(to, requestsDesc) }

// Collect implements prometheus.Collector. It skips caches that cannot be read: they are still filling, or ending.
func (r *Requests) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for binding, view := range r.Views() {
		var pods corev1.PodList
		if err := view.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
			continue
		}
		for namespace, requests := range requestsOf(pods.Items) {
			for resource, value := range requests {
				values <- prometheus.MustNewConstMetric(requestsDesc, prometheus.GaugeValue, value, namespace, binding, string(resource))
			}
		}
	}
}

// requestsOf returns the requests of the pods in a provider, by namespace. Of too many other resources,
// those are shown that the most pods request.
func requestsOf(pods []corev1.Pod) map[string]map[corev1.ResourceName]float64 {
	sums, extended := map[string]map[corev1.ResourceName]float64{}, map[corev1.ResourceName]int{}
	for i := range pods {
		pod := quota.PodOf(&pods[i], false)
		if !pod.Sent || pod.Ended {
			continue
		}
		if sums[pod.Namespace] == nil {
			sums[pod.Namespace] = map[corev1.ResourceName]float64{}
		}
		for name := range pod.Size {
			if strings.HasPrefix(string(name), "limits.") {
				continue
			}
			if !slices.Contains(ordinary, name) {
				extended[name]++
			}
			value := pod.Size.Quantity(name)
			sums[pod.Namespace][name] += value.AsApproximateFloat64()
		}
	}
	names := slices.SortedFunc(maps.Keys(extended), func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(extended[b], extended[a]), cmp.Compare(a, b))
	})
	for _, name := range names[min(len(names), mostExtended):] {
		for _, sum := range sums {
			delete(sum, name)
		}
	}
	return sums
}
