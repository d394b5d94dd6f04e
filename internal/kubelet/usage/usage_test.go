package usage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

var (
	noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	web  = Container{types.NamespacedName{Namespace: "team", Name: "web"}, "app"}
)

func after(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

func said(namespace, name string, at time.Time, containers ...metricsv1beta1.ContainerMetrics) metricsv1beta1.PodMetrics {
	return metricsv1beta1.PodMetrics{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Timestamp: metav1.NewTime(at),
		Window: metav1.Duration{Duration: 15 * time.Second}, Containers: containers}
}

func uses(name, cpu, memory string) metricsv1beta1.ContainerMetrics {
	return metricsv1beta1.ContainerMetrics{Name: name, Usage: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}
}

// TestReadings checks that the containers of the consumer's pods are counted, under their names in the
// consumer.
func TestReadings(t *testing.T) {
	pod := func(namespace, name string, containers ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		for _, c := range containers {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
		}
		return p
	}
	here, there := pod("team", "web", "app", "log"), pod("team-eu", "web-1", "app", "log", "mesh")
	here.Spec.InitContainers = []corev1.Container{{Name: "beside"}}
	here.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
	of := func(name string) Container { return Container{web.Pod, name} }
	long := said("team-eu", "web-1", noon, uses("app", "1", "1"))
	long.Window.Duration = -time.Hour
	longer := long
	longer.Window.Duration = time.Hour
	for name, test := range map[string]struct {
		said metricsv1beta1.PodMetrics
		want map[Container]Reading
	}{
		"all its containers": {
			said("team-eu", "web-1", after(0.7), uses("app", "250m", "64Mi"), uses("log", "1", "1Gi"), uses("beside", "1n", "1"), uses("debug", "2", "2")),
			map[Container]Reading{
				of("app"): {Cores: 0.25, At: noon, Window: 15 * time.Second, Bytes: 64 << 20}, of("log"): {Cores: 1, At: noon, Window: 15 * time.Second, Bytes: 1 << 30},
				of("beside"): {Cores: 1e-9, At: noon, Window: 15 * time.Second, Bytes: 1}, of("debug"): {Cores: 2, At: noon, Window: 15 * time.Second, Bytes: 2},
			},
		},
		"nothing is used":                         {said("team-eu", "web-1", noon, uses("app", "0", "0")), map[Container]Reading{web: {Cores: 0, At: noon, Window: 15 * time.Second, Bytes: 1}}},
		"less than nothing is used":               {said("team-eu", "web-1", noon, uses("app", "-1", "-1")), map[Container]Reading{web: {Cores: 0, At: noon, Window: 15 * time.Second, Bytes: 1}}},
		"more is used than there is":              {said("team-eu", "web-1", noon, uses("app", "1e18", "1e18")), map[Container]Reading{web: {Cores: 1e5, At: noon, Window: 15 * time.Second, Bytes: 1 << 50}}},
		"a container that the provider has added": {said("team-eu", "web-1", noon, uses("mesh", "1", "1")), map[Container]Reading{}},
		"a pod that is not ours":                  {said("team-eu", "other", noon, uses("app", "1", "1")), map[Container]Reading{}},
		"a pod of that name elsewhere":            {said("team", "web", noon, uses("app", "1", "1")), map[Container]Reading{}},
		"at no time":                              {said("team-eu", "web-1", time.Time{}, uses("app", "1", "1")), map[Container]Reading{}},
		"a window that cannot be":                 {long, map[Container]Reading{web: {Cores: 1, At: noon, Window: 0, Bytes: 1}}},
		"a window that is too long":               {longer, map[Container]Reading{web: {Cores: 1, At: noon, Window: Longest, Bytes: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Readings([]metricsv1beta1.PodMetrics{test.said}, []Pair{{Local: here, Remote: there}})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMeter has steps. Each step is a reading of one container, followed by what is shown about the container
// and its node.
func TestMeter(t *testing.T) {
	const window = 15 * time.Second
	type step struct {
		now, at      float64 // By the manager's clock, and by the provider's.
		cores, bytes float64 // No cores: the container does not exist.
		container    counter
		node         float64 // Core-seconds; 0: not shown.
	}
	shown := func(began, at, seconds, bytes float64) counter {
		return counter{after(began), after(at), seconds, bytes}
	}
	const tiny = leastSeconds
	for name, steps := range map[string][]step{
		"rates become counters": {
			{0, -5, 2, 10, shown(-5, -5, tiny, 10), 0},
			{15, 10, 1, 20, shown(-5, 10, 15+tiny, 20), 15 + tiny},
			{31, 25, 0.5, 30, shown(-5, 25, 22.5+tiny, 30), 23 + tiny},
		},
		"the same reading again counts once": {
			{0, 0, 2, 10, shown(0, 0, tiny, 10), 0},
			{15, 15, 2, 10, shown(0, 15, 30+tiny, 10), 30 + tiny},
			{30, 15, 2, 10, shown(0, 15, 30+tiny, 10), 60 + tiny},
		},
		"an older one, of another replica there, counts nothing": {
			{0, 0, 2, 10, shown(0, 0, tiny, 10), 0},
			{15, 15, 2, 10, shown(0, 15, 30+tiny, 10), 30 + tiny},
			{30, 12, 2, 11, shown(0, 15, 30+tiny, 11), 60 + tiny},
			{45, 20, 2, 10, shown(0, 20, 40+tiny, 10), 90 + tiny},
		},
		"a container that comes later has used something in its window": {
			{0, 0, 0, 0, counter{}, 0},
			{15, 15, 2, 10, shown(0, 15, 30+tiny, 10), 30 + tiny},
		},
		"one that goes and comes begins again": {
			{0, 0, 2, 10, shown(0, 0, tiny, 10), 0},
			{15, 15, 0, 0, counter{}, tiny},
			{30, 30, 2, 10, shown(15, 30, 30+tiny, 10), 30 + tiny},
		},
		"the provider's clock is set back": {
			{0, 0, 2, 10, shown(0, 0, tiny, 10), 0},
			{15, -3600, 2, 10, shown(-3600, -3600, tiny, 10), 30 + tiny},
		},
		"nobody has asked for long": {
			{0, 0, 2, 10, shown(0, 0, tiny, 10), 0},
			{301, 301, 2, 10, shown(301, 301, tiny, 10), 0},
			{316, 316, 2, 10, shown(301, 316, 30+tiny, 10), 30 + tiny},
		},
		"nothing is used": {
			{0, 0, tiny / 1e9, 1, shown(0, 0, tiny, 1), 0},
			{15, 15, tiny / 1e9, 1, shown(0, 15, tiny, 1), tiny},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m Meter
			for i, s := range steps {
				readings := map[Container]Reading{}
				if s.cores > 0 {
					readings[web] = Reading{Cores: s.cores, At: after(s.at), Window: window, Bytes: s.bytes}
				}
				m.Read(readings, after(s.now))
				nearly := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-10 && b-a < 1e-10 })
				if diff := cmp.Diff(s.container, m.counters[web], cmp.AllowUnexported(counter{}), nearly); diff != "" {
					t.Errorf("step %d: %s", i, diff)
				}
				if m.nodeShown != (s.node > 0) || m.nodeShown && !cmp.Equal(m.node.seconds, s.node, nearly) {
					t.Errorf("step %d: the node is shown: %t, with %g, want %g", i, m.nodeShown, m.node.seconds, s.node)
				}
			}
		})
	}
}

// TestText tests the text that metrics-server reads. It has no zeros, because metrics-server takes a zero for
// a container that has ended.
func TestText(t *testing.T) {
	var m Meter
	m.Read(map[Container]Reading{web: {Cores: 0, At: noon, Window: 15 * time.Second, Bytes: 1}}, after(5))
	if got := testutil.CollectAndCount(m.Metrics(""), "node_cpu_usage_seconds_total"); got != 0 {
		t.Error("the node is shown by the first reading, and another manager may have shown more")
	}
	m.Read(map[Container]Reading{web: {Cores: 0.5, At: after(10), Window: 15 * time.Second, Bytes: 64 << 20}}, after(15))
	const want = `
# HELP container_cpu_usage_seconds_total Cumulative CPU time that the container has used, in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="app",namespace="team",pod="web"} 5.000000001 1767268810000
# HELP container_memory_working_set_bytes Working set of the container, in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="app",namespace="team",pod="web"} 6.7108864e+07 1767268810000
# HELP container_start_time_seconds When the CPU time of the container was zero, in seconds since 1970
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="app",namespace="team",pod="web"} 1.7672688e+09 1767268810000
# HELP node_cpu_usage_seconds_total Cumulative CPU time that all offloaded pods of the node have used, in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 5.000000001 1767268815000
# HELP node_memory_working_set_bytes Working set of all offloaded pods of the node, in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 6.7108864e+07 1767268815000
`
	if err := testutil.CollectAndCompare(m.Metrics(""), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if nanoseconds := float64(leastSeconds); uint64(nanoseconds*1e9) == 0 {
		t.Error("metrics-server would take the least CPU time for none")
	}
}

func TestPause(t *testing.T) {
	for name, test := range map[string]struct {
		windows []time.Duration
		want    time.Duration
	}{
		"nothing runs there":            {nil, 10 * time.Second},
		"a usual provider":              {[]time.Duration{15 * time.Second, 15300 * time.Millisecond}, 10 * time.Second},
		"one that looks once a minute":  {[]time.Duration{time.Minute, 90 * time.Second}, 40 * time.Second},
		"one that has looked only once": {[]time.Duration{time.Minute, 0}, 10 * time.Second},
		"one that says it hardly looks": {[]time.Duration{5 * time.Minute}, time.Minute},
		"one that says it always looks": {[]time.Duration{time.Millisecond}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			readings := map[Container]Reading{}
			for i, window := range test.windows {
				readings[Container{Name: string(rune('a' + i))}] = Reading{Window: window}
			}
			if got := Pause(readings, 10*time.Second, time.Minute); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestNodes: each virtual node shows the sum of its pods, which does not decrease when they end.
func TestNodes(t *testing.T) {
	var m Meter
	other := Container{types.NamespacedName{Namespace: "team", Name: "other"}, "app"}
	read := func(at float64, cores map[Container]float64) {
		readings := map[Container]Reading{}
		for of, n := range cores {
			readings[of] = Reading{Cores: n, At: after(at), Bytes: 5, Node: "node-of-" + of.Pod.Name}
		}
		m.Read(readings, after(at))
	}
	for i, step := range []struct {
		cores           map[Container]float64
		web, other, all float64 // Seconds of the nodes.
	}{
		{map[Container]float64{web: 1}, 0, 0, 0},
		{map[Container]float64{web: 1, other: 2}, 10, 20, 30},
		{map[Container]float64{web: 1}, 20, 20, 40},
		{map[Container]float64{}, 20, 20, 40},
		{map[Container]float64{other: 1}, 20, 30, 50},
	} {
		read(float64(10*i), step.cores)
		for node, want := range map[string]float64{"node-of-web": step.web, "node-of-other": step.other, "": step.all, "node-of-none": 0} {
			if got := m.sumOf(node); got.seconds < leastSeconds || got.seconds-want > 1e-6 || want-got.seconds > 1e-6 || got.bytes < leastBytes {
				t.Errorf("step %d: node %q has used %v, want %v", i, node, got, want)
			}
		}
	}
	for node, want := range map[string]int{"node-of-web": 2, "node-of-other": 5, "": 5, "node-of-none": 2} {
		if got := testutil.CollectAndCount(m.Metrics(node)); got != want {
			t.Errorf("of node %q, %d metrics are shown, want %d", node, got, want)
		}
	}
}
