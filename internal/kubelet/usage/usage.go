// Package usage turns what metrics.k8s.io reports about a provider's pods into what a kubelet reports about
// its own pods, without any I/O.
//
// metrics.k8s.io has rates: the mean CPU use over a window that ended at some moment. A kubelet has counters,
// and metrics-server computes rates from their differences. So this package assumes that each rate holds from
// one of the provider's moments to the next, and adds it up. Then the difference of two counters over the
// time between them is the provider's rate again.
//
// For metrics-server, a counter that decreases is an error. It then shows the pod without that container, and
// a HorizontalPodAutoscaler takes the other containers for the whole pod. So counters never decrease while a
// Meter lives. The counters of another manager have a start time that is no earlier than any moment that the
// previous manager has shown. That causes a gap, but no error.
package usage

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Longest is how long a rate may hold. After a longer time without a reading, counters begin again.
const Longest = 5 * time.Minute

// metrics-server takes a container without CPU or memory for one that has ended, and drops its pod. So there
// is a least value. Larger values than the most are cut, so that counters do not overflow.
const (
	leastSeconds, leastBytes = 1e-9, 1
	mostCores, mostBytes     = 1e5, 1 << 50
)

// Container is a container of the consumer.
type Container struct {
	Pod  types.NamespacedName
	Name string
}

// Reading is what a container uses.
type Reading struct {
	// Cores is the mean over the Window that ends at At, by the provider's clock. At has whole seconds, as in
	// metrics.k8s.io.
	Cores  float64
	At     time.Time
	Window time.Duration
	// Bytes is the working set.
	Bytes float64
	// Node is the virtual node of the pod.
	Node string
}

// Pair is a pod of the consumer and its remote pod.
type Pair struct{ Local, Remote *corev1.Pod }

// Readings returns the readings of the containers of the consumer's pods. It leaves out containers and pods
// that the provider adds.
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
				At: pod.Timestamp.Truncate(time.Second), Window: min(max(0, pod.Window.Duration), Longest), Node: pair.Local.Spec.NodeName,
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

// Pause returns after which time a provider is likely to report something new. It is two thirds of the
// shortest window, so that a caller which needs a value from each window does not wait for a second one.
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
