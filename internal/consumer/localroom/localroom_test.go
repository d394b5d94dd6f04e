package localroom

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func podOn(node string, uid types.UID, cpu string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web-" + string(uid), UID: uid}, Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}},
	}}
}

// TestFree shows what is free after each change, and how often others are told.
func TestFree(t *testing.T) {
	told := 0
	pods, nodes := newPods(func() { told++ }), newNodes(func() { told++ })
	node := builder.Node("a").Allocatable(corev1.ResourceCPU, "4").Allocatable(corev1.ResourcePods, "10")
	rooms := &Rooms{now: &watched{nodes: nodes, pods: pods}}
	expect := func(what, want string, tells int, err error) {
		t.Helper()
		all, known := rooms.Nodes()
		got := "unknown"
		if known {
			got = ""
			for _, n := range all {
				got += fmt.Sprintf("%s%v", n.Name, []spill.Amount(n.Free))
			}
		}
		if got != want || told != tells || err != nil {
			t.Errorf("%s: got %s and %d calls (%v), want %s and %d", what, got, told, err, want, tells)
		}
	}
	expect("at first", "unknown", 0, nil)
	expect("the pods are known", "unknown", 1, pods.Replace([]any{podOn("a", "1", "1")}, "1"))
	expect("the nodes, too", "a[{cpu 3000} {pods 9}]", 2, nodes.Replace([]any{node.Obj()}, "1"))
	expect("another pod", "a[{cpu 1500} {pods 8}]", 3, pods.Add(podOn("a", "2", "1500m")))
	expect("it is the same", "a[{cpu 1500} {pods 8}]", 3, pods.Update(podOn("a", "2", "1500m")))
	expect("it is resized", "a[{cpu 1} {pods 8}]", 4, pods.Update(podOn("a", "2", "2999m")))
	expect("a virtual node", "a[{cpu 1} {pods 8}]", 4, nodes.Add(builder.Node("spillway-eu").Label("spillway.io/node-type", "virtual").Obj()))
	expect("a report of the node", "a[{cpu 1} {pods 8}]", 4, nodes.Update(node.Obj()))
	expect("the node has more", "a[{cpu 2001} {pods 8}]", 5, nodes.Update(node.Allocatable(corev1.ResourceCPU, "6").Obj()))
	ended := podOn("a", "2", "2999m")
	ended.Status.Phase = corev1.PodSucceeded
	expect("a pod has ended", "a[{cpu 5000} {pods 9}]", 6, pods.Update(ended))
	expect("the other is deleted", "a[{cpu 6000} {pods 10}]", 7, pods.Delete(podOn("a", "1", "1")))
	if len(pods.of)+len(pods.sums)+len(pods.alike) > 0 {
		t.Errorf("%v, %v and %v are kept", pods.of, pods.sums, pods.alike)
	}
	expect("all are listed again", "a[{cpu 5000} {pods 9}]", 8, pods.Replace([]any{podOn("a", "4", "1")}, "9"))
	expect("the node is gone", "", 9, nodes.Delete(node.Obj()))
}

// TestSuccessor: only a later pod of the same controller counts, on a node of the consumer.
func TestSuccessor(t *testing.T) {
	pods, nodes := newPods(func() {}), newNodes(func() {})
	rooms := &Rooms{now: &watched{nodes: nodes, pods: pods}}
	successor := podOn("a", "1", "1")
	successor.CreationTimestamp = metav1.NewTime(builder.Epoch)
	successor.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "web", Controller: ptr.To(true)}}
	running := successor.DeepCopy()
	running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	elsewhere := running.DeepCopy()
	elsewhere.UID, elsewhere.Spec.NodeName = "2", "b"
	for _, err := range []error{nodes.Add(builder.Node("a").Obj()), pods.Add(successor), pods.Add(elsewhere)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(owner types.UID, since time.Duration, want ...bool) {
		t.Helper()
		if there, ready := rooms.Successor(owner, func(created time.Time) bool { return !created.Before(builder.Epoch.Add(since)) }); there != want[0] || ready != want[1] {
			t.Errorf("of %s since %v: there %v, ready %v", owner, since, there, ready)
		}
	}
	want("web", 0, true, false)
	want("web", time.Second, false, false)
	want("db", 0, false, false)
	if err := pods.Update(running); err != nil {
		t.Fatal(err)
	}
	want("web", 0, true, true)
}

// TestMemory: a pod takes at most 200 bytes.
func TestMemory(t *testing.T) {
	const number, most = 20_000, 200
	held := newPods(func() {})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range number {
		pod := podOn(fmt.Sprintf("node-%d", n%200), uuid.NewUUID(), "1")
		pod.OwnerReferences = []metav1.OwnerReference{{UID: uuid.NewUUID(), Controller: ptr.To(true)}}
		if err := held.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / number; each > most {
		t.Errorf("a pod takes %d bytes, want %d at most", each, most)
	}
	runtime.KeepAlive(held)
}
