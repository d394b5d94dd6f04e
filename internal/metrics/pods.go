package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/field"
)

// scrapeTimeout limits the reading of a cache. A full cache answers at once. One that is still filling is
// left out, because it would block all metrics.
const scrapeTimeout = 500 * time.Millisecond

// otherReason stands for all unknown reasons, so that the values of the label do not depend on what is
// written to pods.
const otherReason = "other"

var (
	podsDesc = prometheus.NewDesc("spillway_pods",
		"Pods on virtual nodes by provider and phase.", []string{"cluster", "phase"}, nil)
	dependentsDesc = prometheus.NewDesc("spillway_dependents",
		"Objects that are sent to a provider because pods there need them, by kind.", []string{"cluster", "kind"}, nil)
	refusedDesc = prometheus.NewDesc("spillway_pods_refused",
		"Pods on virtual nodes that are missing or not up to date in the provider, by the reason of their condition.",
		[]string{"cluster", "reason"}, nil)
	refusedSinceDesc = prometheus.NewDesc("spillway_pods_refused_since_timestamp_seconds",
		"When the pod that has been missing or not up to date in the provider longest became so, in seconds since 1970, by the reason of its condition.",
		[]string{"cluster", "reason"}, nil)
)

// phasesOfPods are all phases of a pod.
var phasesOfPods = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown}

// dependents are the kinds that are sent because pods need them.
var dependents = map[string]func() client.ObjectList{
	"configmap":             func() client.ObjectList { return &corev1.ConfigMapList{} },
	"secret":                func() client.ObjectList { return &corev1.SecretList{} },
	"persistentvolumeclaim": func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} },
	"persistentvolume":      func() client.ObjectList { return &corev1.PersistentVolumeList{} },
}

// Pods reads the caches of the ClusterBindings on each scrape.
type Pods struct {
	// Views returns the existing caches, by the name of the ClusterBinding.
	Views func() map[string]*views.View
}

// Describe implements prometheus.Collector.
func (*Pods) Describe(to chan<- *prometheus.Desc) {
	describe(to, podsDesc, dependentsDesc, refusedDesc, refusedSinceDesc)
}

// Collect implements prometheus.Collector. It skips caches that cannot be read: they are still filling, or
// ending.
func (p *Pods) Collect(values chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	collected := map[string]bool{}
	for _, view := range p.Views() {
		if collected[view.ClusterID] {
			continue // Two bindings share the clusterID. One duplicate fails all metrics.
		}
		collected[view.ClusterID] = true
		collect(ctx, view, func(desc *prometheus.Desc, value int64, label string) {
			values <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), view.ClusterID, label)
		})
	}
}

func collect(ctx context.Context, view *views.View, gauge func(desc *prometheus.Desc, value int64, label string)) {
	var pods corev1.PodList
	if err := view.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	counts, refused, since := countPods(pods.Items)
	for phase, count := range counts {
		gauge(podsDesc, count, string(phase))
	}
	for reason, count := range refused {
		gauge(refusedDesc, count, reason)
	}
	for reason, at := range since {
		gauge(refusedSinceDesc, at, reason)
	}
	for kind, newList := range dependents {
		list := newList()
		if err := view.List(ctx, list, client.UnsafeDisableDeepCopy); err == nil {
			gauge(dependentsDesc, int64(meta.LenList(list)), kind)
		}
	}
}

// countPods counts pods by phase, zeros included, and by the reason why they are not, or not fully, in the
// provider. since is when the first of those was refused.
func countPods(pods []corev1.Pod) (phases map[corev1.PodPhase]int64, refused, since map[string]int64) {
	phases, refused, since = map[corev1.PodPhase]int64{}, map[string]int64{}, map[string]int64{}
	for _, phase := range phasesOfPods {
		phases[phase] = 0
	}
	for i := range pods {
		status := &pods[i].Status
		if _, known := phases[status.Phase]; known {
			phases[status.Phase]++
		} else {
			phases[corev1.PodUnknown]++
		}
		for j := range status.Conditions {
			if condition := &status.Conditions[j]; condition.Type == v1alpha1.PodOffloaded && condition.Status == corev1.ConditionFalse {
				reason := boundedReason(condition.Reason)
				refused[reason]++
				if at := condition.LastTransitionTime; !at.IsZero() {
					earliest(since, reason, at.Unix())
				}
			}
		}
	}
	return phases, refused, since
}

func boundedReason(reason string) string {
	if slices.Contains(field.PodReasons, reason) {
		return reason
	}
	return otherReason
}
