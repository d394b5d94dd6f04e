// Package usage turns what metrics.k8s.io says of a provider's pods into what a kubelet
// says of its own, without any I/O.
//
// metrics.k8s.io has rates: so much CPU over the window that ended at some moment. A
// kubelet has counters, from whose differences metrics-server takes rates again. So each
// rate is taken to hold from one of the provider's moments to the next, and added up: the
// difference of two counters over the time between is the provider's rate again.
//
// A counter that decreases is an error to metrics-server, which then shows the pod without
// that container, and a HorizontalPodAutoscaler takes the others for all of it. So counters
// never decrease while a Meter lives. Another manager's begin at a start time that is no
// earlier than any of the moments that the one before has shown: that is a gap.
package usage

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Longest is how long a rate may hold. After a longer time without a reading, counters
// begin again.
const Longest = 5 * time.Minute

// metrics-server takes a container without CPU or memory for one that has ended, and drops
// its pod. What a provider says beyond the most is cut, so that counters have room.
const (
	leastSeconds, leastBytes = 1e-9, 1
	mostCores, mostBytes     = 1e5, 1 << 50
)

// Container is one of the consumer's.
type Container struct {
	Pod  types.NamespacedName
	Name string
}

// Reading is what a container uses.
type Reading struct {
	// Cores is the mean over the Window that ends At, by the provider's clock. At has whole
	// seconds, as in metrics.k8s.io.
	Cores  float64
	At     time.Time
	Window time.Duration
	// Bytes is the working set.
	Bytes float64
}

// Pair is a pod of the consumer, and the one that stands for it in the provider.
type Pair struct{ Local, Remote *corev1.Pod }

// Readings are those of the containers that the consumer's pods have. What a provider adds,
// containers or whole pods, is left out.
func Readings(said []metricsv1beta1.PodMetrics, pods []Pair) map[Container]Reading {
	of := make(map[types.NamespacedName]*metricsv1beta1.PodMetrics, len(said))
	for i := range said {
		of[types.NamespacedName{Namespace: said[i].Namespace, Name: said[i].Name}] = &said[i]
	}
	readings := map[Container]Reading{}
	for _, pair := range pods {
		pod := of[types.NamespacedName{Namespace: pair.Remote.Namespace, Name: pair.Remote.Name}]
		if pod == nil || pod.Timestamp.IsZero() {
			continue
		}
		has := containers(pair.Local)
		for i := range pod.Containers {
			c := &pod.Containers[i]
			if !has[c.Name] {
				continue
			}
			readings[Container{types.NamespacedName{Namespace: pair.Local.Namespace, Name: pair.Local.Name}, c.Name}] = Reading{
				Cores: within(0, c.Usage.Cpu().AsApproximateFloat64(), mostCores), Bytes: within(leastBytes, c.Usage.Memory().AsApproximateFloat64(), mostBytes),
				At: pod.Timestamp.Truncate(time.Second), Window: min(max(0, pod.Window.Duration), Longest),
			}
		}
	}
	return readings
}

func containers(pod *corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for i := range pod.Spec.Containers {
		names[pod.Spec.Containers[i].Name] = true
	}
	for i := range pod.Spec.InitContainers {
		names[pod.Spec.InitContainers[i].Name] = true
	}
	for i := range pod.Spec.EphemeralContainers {
		names[pod.Spec.EphemeralContainers[i].Name] = true
	}
	return names
}

func within(least, value, most float64) float64 {
	if math.IsNaN(value) {
		return least
	}
	return min(max(least, value), most)
}

// Pause is after which time a provider is likely to have something new to say: nearly the
// shortest of its windows, so that whoever asks each window is not kept waiting for a
// second one.
func Pause(readings map[Container]Reading, least, most time.Duration) time.Duration {
	pause := most
	if len(readings) == 0 {
		return least
	}
	for _, r := range readings {
		pause = min(pause, r.Window*2/3)
	}
	return max(least, pause)
}
