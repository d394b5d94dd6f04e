// Package metrics holds Spillway's own metrics. controller-runtime has metrics of the work queues, the
// reconcilers, the clients and the process.
package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// OffloadingReady is the time, in seconds, from the creation of a NamespaceOffloading until it is Ready.
var OffloadingReady = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "spillway_offloading_ready_seconds",
	Help:    "Time from the creation of a NamespaceOffloading until it is Ready for the first time. Counts only those created and Ready within one process, with a selected provider throughout.",
	Buckets: prometheus.ExponentialBuckets(0.25, 2, 12),
})

// PodCreated is the time, in seconds, from the binding of a pod to a virtual node until the pod is created in
// the provider. The time of the binding is known in whole seconds only.
var PodCreated = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "spillway_pod_created_seconds",
	Help:    "Time from the scheduling of a pod onto a virtual node until it is created in the provider.",
	Buckets: prometheus.ExponentialBuckets(0.125, 2, 12),
}, []string{"cluster"})

// PodStatus is the time, in seconds, from a change of a remote pod until the local one shows it, counted from
// the first change that is not shown.
var PodStatus = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "spillway_pod_status_seconds",
	Help:    "Time from the arrival of a change of a remote pod until it is written to the status of the local one.",
	Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16), // Half a millisecond to 16 seconds.
}, []string{"cluster"})

func init() { metrics.Registry.MustRegister(OffloadingReady, PodCreated, PodStatus) }

var (
	connectedDesc = prometheus.NewDesc("spillway_connected_clusters",
		"Providers that are connected.", nil, nil)
	namespacesDesc = prometheus.NewDesc("spillway_remote_namespaces",
		"Remote namespaces by provider and phase. Pending ones are requested, with no known result yet.",
		[]string{"cluster", "phase"}, nil)
	namespacesSinceDesc = prometheus.NewDesc("spillway_remote_namespaces_since_timestamp_seconds",
		"When the remote namespace that has been in its phase longest entered it, in seconds since 1970, by provider and phase. Pending ones count from the first scrape of this process, and not while the binding is paused. No sample without one.",
		[]string{"cluster", "phase"}, nil)
)

// State reads the caches on each scrape.
type State struct {
	Reader Lister
	// Connected counts the connected providers.
	Connected func() int
	Clock     clock.PassiveClock

	pending pending
}

var _ = []prometheus.Collector{&State{}, &Bindings{}, &Pods{}, &Streams{}, &Usage{}}

func describe(to chan<- *prometheus.Desc, all ...*prometheus.Desc) {
	for _, desc := range all {
		to <- desc
	}
}

// Describe implements prometheus.Collector.
func (*State) Describe(to chan<- *prometheus.Desc) {
	describe(to, connectedDesc, namespacesDesc, namespacesSinceDesc)
}

// Collect implements prometheus.Collector.
func (s *State) Collect(values chan<- prometheus.Metric) {
	values <- prometheus.MustNewConstMetric(connectedDesc, prometheus.GaugeValue, float64(s.Connected()))
	var maps v1alpha1.NamespaceMapList
	if err := s.Reader.List(context.Background(), &maps, client.UnsafeDisableDeepCopy); err != nil {
		values <- prometheus.NewInvalidMetric(namespacesDesc, err)
		return
	}
	waits := s.pending.oldest(maps.Items, s.paused(), s.Clock.Now().Unix())
	for i := range maps.Items {
		cluster := maps.Items[i].Labels[v1alpha1.LabelCluster]
		for phase, count := range phases(&maps.Items[i]) {
			values <- prometheus.MustNewConstMetric(namespacesDesc, prometheus.GaugeValue, float64(count), cluster, phase)
		}
		if since, some := waits[maps.Items[i].Name]; some {
			values <- prometheus.MustNewConstMetric(namespacesSinceDesc, prometheus.GaugeValue, float64(since), cluster, phasePending)
		}
		for phase, since := range oldest(&maps.Items[i]) {
			values <- prometheus.MustNewConstMetric(namespacesSinceDesc, prometheus.GaugeValue, float64(since), cluster, string(phase))
		}
	}
}

// oldest returns, for each phase, when the namespace that has been in it longest entered it. An alert that counts
// namespaces would fire where some always come and go.
func oldest(nsm *v1alpha1.NamespaceMap) map[v1alpha1.MappingPhase]int64 {
	times := map[v1alpha1.MappingPhase]int64{}
	for i := range nsm.Status.CurrentMapping {
		if entry := &nsm.Status.CurrentMapping[i]; entry.Since != nil {
			earliest(times, entry.Phase, entry.Since.Unix())
		}
	}
	return times
}

func earliest[K comparable](times map[K]int64, key K, at int64) {
	if known, ok := times[key]; !ok || at < known {
		times[key] = at
	}
}

func phases(nsm *v1alpha1.NamespaceMap) map[string]int {
	counts := map[string]int{
		string(v1alpha1.MappingAccepted):            0,
		string(v1alpha1.MappingCreationLoopBackOff): 0,
		string(v1alpha1.MappingTerminating):         0,
	}
	pending := unknown(nsm)
	for i := range nsm.Status.CurrentMapping {
		counts[string(nsm.Status.CurrentMapping[i].Phase)]++
	}
	counts[phasePending] = len(pending)
	return counts
}
