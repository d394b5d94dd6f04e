package hostile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	// hoard is the number of ConfigMaps that a team has. Each has a megabyte, and together they exceed
	// memoryLimit. sentOfHoard is the number that may be sent: a sixteenth of the budget, and four more that
	// are underway at the same time.
	hoard       = 300
	sentOfHoard = 16 + 4
)

// hoarding gives a team many ConfigMaps with the manager's label, and a pod that needs all of them. A manager
// can still start, and another team notices nothing.
func (s *setup) hoarding(t *testing.T) {
	greedy, modest := rig.Namespace(0).GetName(), rig.Namespace(1).GetName()
	must(t, s.Consumer.Admin.Create(t.Context(), rig.Namespace(1)), s.Consumer.Admin.Create(t.Context(), rig.Offloading(1)))
	heap := watchHeap()
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, hoard, func(i int) client.Object { return hoarded(greedy, i) }))
	must(t, s.Consumer.Admin.Create(t.Context(), needing(greedy, "greedy", hoard)))
	s.saysWhy(t, greedy, "greedy")
	s.othersGoOn(t, modest, "before")
	s.stop()
	before := s.readOfConsumer()
	s.start(t)
	s.othersGoOn(t, modest, "after")
	s.saysWhy(t, greedy, "greedy")
	if read := s.readOfConsumer() - before; read > sentOfHoard {
		t.Errorf("%d ConfigMaps were read, of %d that may be sent", read, sentOfHoard)
	}
	peak := heap()
	if peak > memoryLimit {
		t.Errorf("the heap took %d MiB, want at most %d", peak>>20, memoryLimit>>20)
	}
	var copied metav1.PartialObjectMetadataList
	copied.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	must(t, s.Providers[0].Admin.List(t.Context(), &copied, client.InNamespace(remoteNamespace()), client.HasLabels{v1alpha1.LabelBinding}))
	if n := len(copied.Items); n == 0 || n > sentOfHoard {
		t.Errorf("%d ConfigMaps were sent, want some, and at most %d", n, sentOfHoard)
	}
	t.Logf("heap at most %d MiB; %d of %d ConfigMaps were sent, and %d read in all", peak>>20, len(copied.Items), hoard, s.readOfConsumer())
}

func hoarded(namespace string, i int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("hoarded-%d", i), Labels: map[string]string{v1alpha1.LabelSyncedTo + good: v1alpha1.SyncedToTrue},
		},
		Data: map[string]string{"key": strings.Repeat("x", 1_000_000)},
	}
}

// needing returns a pod that needs the first n of these ConfigMaps.
func needing(namespace, name string, n int) *corev1.Pod {
	pod := newPod(name, good)
	pod.Namespace = namespace
	for i := range n {
		pod.Spec.Containers[0].EnvFrom = append(pod.Spec.Containers[0].EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: hoarded(namespace, i).Name}}})
	}
	return pod
}

// saysWhy waits until the pod says why it waits.
func (s *setup) saysWhy(t *testing.T, namespace, name string) {
	t.Helper()
	s.eventually(t, "the pod to say why it waits", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := s.Consumer.Watched.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
			return err
		}
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == v1alpha1.PodOffloaded })
		if i < 0 || pod.Status.Conditions[i].Reason != v1alpha1.ReasonOverBudget || !strings.Contains(pod.Status.Conditions[i].Message, "namespace "+namespace+" has ") {
			return fmt.Errorf("its conditions are %v", pod.Status.Conditions)
		}
		return nil
	})
}

// othersGoOn checks that a ConfigMap of another namespace is sent, with the pod that needs it.
func (s *setup) othersGoOn(t *testing.T, namespace, name string) {
	t.Helper()
	small := hoarded(namespace, 0)
	small.Data = map[string]string{"key": "1"}
	must(t, client.IgnoreAlreadyExists(s.Consumer.Admin.Create(t.Context(), small)), s.Consumer.Admin.Create(t.Context(), needing(namespace, name, 1)))
	s.eventually(t, "the pod of another namespace", func(ctx context.Context) error {
		return s.Providers[0].Watched.Get(ctx, client.ObjectKey{Namespace: namespace + "-" + consumerID, Name: name}, &corev1.Pod{})
	})
}

// readOfConsumer is the number of ConfigMaps that were read one by one in the consumer.
func (s *setup) readOfConsumer() int {
	return s.counter.Figures().Sum(requests.Cluster(s.Consumer.ID), requests.Resource("configmaps"), requests.Verb(requests.Get)).Requests
}
