package foreign

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

func podOn(node string, uid types.UID, requests ...string) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "theirs", Name: "web-" + string(uid), UID: uid}, Spec: corev1.PodSpec{NodeName: node}}
	for _, cpu := range requests {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}})
	}
	return pod
}

// TestTable: the table has what the pods on each node request together, and nothing of pods that are gone.
func TestTable(t *testing.T) {
	held := newTable(1 << 20)
	overhead := podOn("a", "3", "1")
	overhead.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}
	overhead.Spec.InitContainers = podOn("", "", "3").Spec.Containers
	ended := podOn("a", "1", "2")
	ended.Status.Phase = corev1.PodSucceeded
	for _, step := range []struct {
		what    string
		pod     *corev1.Pod
		changes bool
		want    string
	}{
		{"one pod", podOn("a", "1", "1"), true, "map[a:cpu 1, pods 1]"},
		{"the same again", podOn("a", "1", "1"), false, "map[a:cpu 1, pods 1]"},
		{"another like it", podOn("a", "2", "500m", "500m"), true, "map[a:cpu 2, pods 2]"},
		{"one on another node", podOn("b", "4"), true, "map[a:cpu 2, pods 2 b:pods 1]"},
		{"an init container and overhead count", overhead, true, "map[a:cpu 5250m, pods 3 b:pods 1]"},
		{"one is resized", podOn("a", "1", "2"), true, "map[a:cpu 6250m, pods 3 b:pods 1]"},
		{"one without a node", podOn("", "5", "1"), false, "map[a:cpu 6250m, pods 3 b:pods 1]"},
		{"one ends", ended, true, "map[a:cpu 4250m, pods 2 b:pods 1]"},
	} {
		if changes := held.put(step.pod); changes != step.changes {
			t.Errorf("%s changes anything: %v", step.what, changes)
		}
		if got := fmt.Sprint(held.used()); got != step.want {
			t.Errorf("%s: got %s, want %s", step.what, got, step.want)
		}
	}
	for _, uid := range []string{"1", "2", "3", "4"} {
		held.drop(keyOf(uid))
	}
	if len(held.pods)+len(held.nodes)+len(held.shapes) > 0 || held.bytes != int64(2*perName+len("cpu")+len("pods")) {
		t.Errorf("%v, %v and %v are kept, and %d bytes count", held.pods, held.nodes, held.shapes, held.bytes)
	}
}

// TestMemory: a pod takes at most 200 bytes, also if it requests what no other one does, and never more than counts.
func TestMemory(t *testing.T) {
	const number, most = 20_000, 200
	for name, requests := range map[string]func(n int) string{
		"pods of few workloads": func(n int) string { return fmt.Sprintf("%dm", 100*(1+n%50)) },
		"each is different":     func(n int) string { return fmt.Sprintf("%dm", 1+n) },
	} {
		t.Run(name, func(t *testing.T) {
			held := newTable(1 << 30)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for n := range number {
				held.put(podOn(fmt.Sprintf("node-%d", n%200), uuid.NewUUID(), requests(n)))
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			took := int64(after.HeapAlloc) - int64(before.HeapAlloc) //nolint:gosec // No heap is that large.
			t.Logf("a pod takes %d bytes, and counts as %d", took/number, held.bytes/number)
			if took/number > most || took > held.bytes {
				t.Errorf("%d pods take %d bytes, and count as %d", number, took, held.bytes)
			}
			runtime.KeepAlive(held)
		})
	}
}

// TestBounded: neither long names nor many resources take memory without a bound.
func TestBounded(t *testing.T) {
	held := newTable(1 << 20)
	pod := podOn("a", "1", "1")
	for n := range 1000 {
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceName(fmt.Sprintf("example.com/device-%03d", n))] = resource.MustParse("1")
	}
	held.put(pod)
	if size := held.used()["a"]; len(size) != mostAmounts-2 || size[0].Name != corev1.ResourceCPU || size[len(size)-1].Name != corev1.ResourcePods {
		t.Errorf("%d amounts: %s", len(size), size)
	}
	for n := range 10_000 {
		held.put(podOn(fmt.Sprintf("%0253d", n), types.UID(fmt.Sprint(n))))
	}
	if !held.isFull() {
		t.Error("10,000 nodes with long names fit into 1 MiB")
	}
}

// BenchmarkEvent is what an event costs the manager: decoding it, and the table. The pod has about the size of a usual
// one.
func BenchmarkEvent(b *testing.B) {
	held, pods := newTable(1<<30), [2][]byte{}
	for i, cpu := range []string{"1", "2"} {
		pod := podOn("a", "1", cpu)
		for v := range 30 {
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", v), Value: strings.Repeat("x", 80)})
		}
		var err error
		if pods[i], err = pod.Marshal(); err != nil {
			b.Fatal(err)
		}
	}
	for n := 0; b.Loop(); n++ {
		pod := &corev1.Pod{}
		if err := pod.Unmarshal(pods[n%2]); err != nil {
			b.Fatal(err)
		}
		held.put(pod)
	}
}
