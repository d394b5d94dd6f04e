//go:build bench

package performance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	foreignNamespaces = 10
	foreignNode       = "ordinary"
)

// TestForeign measures the cost of pods that are not Spillway's: most pods of a consumer. Pods without a node
// are a separate case, because Spillway checks whether their namespace is offloaded.
func TestForeign(t *testing.T) {
	const offloaded, bound, waiting = 100, 5000, 1000
	s := startSite(t, "foreign", 1, providers[:1])
	since := s.start(t)
	s.offload(t, 0, 1)
	s.run(t, offloaded, 0, 1)
	s.foreignGround(t)
	report := ForeignReport{
		Date: today(), Command: "make bench", Machine: docs.ThisMachine(s.version(t)), Offloaded: offloaded,
		PodBytes: foreignPod(0, foreignNode).Size(),
	}
	s.settle(t, since)
	none := s.foreign(t, since, ForeignState{}, 0, 0)
	onNode := s.foreign(t, since, none, bound, 0)
	report.States = append(report.States, none, onNode, s.foreign(t, since, onNode, bound, waiting))
	for _, state := range report.States {
		for _, row := range state.Requests {
			t.Errorf("%d + %d foreign pods: %d times %s in cluster %s because of them", state.Bound, state.Waiting, row.Requests, what(row.Key), row.Cluster)
		}
	}
	publishPart(t, "foreign", report, report.Markdown())
}

// foreignGround creates the node and the namespaces of the foreign pods.
func (s *site) foreignGround(t *testing.T) {
	must(t, s.Consumer.Admin.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: foreignNode}}))
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, foreignNamespaces, func(i int) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreignNamespace(i)}}
	}))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error {
		for i := range foreignNamespaces {
			key := client.ObjectKey{Namespace: foreignNamespace(i), Name: "default"}
			if err := s.Consumer.Watched.Get(ctx, key, &corev1.ServiceAccount{}); err != nil {
				return err
			}
		}
		return nil
	}))
}

func foreignNamespace(i int) string { return fmt.Sprintf("foreign-%d", i%foreignNamespaces) }

// foreign creates foreign pods until there are so many. It measures when the manager has had the time to
// react.
func (s *site) foreign(t *testing.T, since time.Time, before ForeignState, bound, waiting int) ForeignState {
	s.say("%d foreign pods on a node, %d waiting for one", bound, waiting)
	cpu, figures := s.used(t), s.figures(t)
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, bound-before.Bound, func(i int) client.Object {
		return foreignPod(before.Bound+i, foreignNode)
	}))
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, waiting-before.Waiting, func(i int) client.Object {
		return foreignPod(before.Waiting+i, "")
	}))
	made := time.Now()
	must(t, s.Settled(t.Context(), made, patience))
	s.settle(t, since)
	state := ForeignState{
		Bound: bound, Waiting: waiting, CPUSeconds: s.used(t) - cpu,
		Requests: s.figures(t).Since(figures).Rows(func(k requests.Key) bool { return classOf(k) == others }),
	}
	usage, heap := s.usage(t)
	state.HeapBytes, state.RSSBytes, state.PeakRSSBytes = heap, usage.RSS, usage.PeakRSS
	s.say("%d requests because of them, heap %s MB", total(state.Requests), megabytes(heap))
	return state
}

// foreignPod has about the size of a usual pod.
func foreignPod(i int, node string) *corev1.Pod {
	const variables, length = 30, 80
	name := fmt.Sprintf("waiting-%05d", i)
	if node != "" {
		name = fmt.Sprintf("bound-%05d", i)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: foreignNamespace(i), Name: name, Labels: map[string]string{"app": "foreign"}},
		Spec: corev1.PodSpec{
			NodeName: node,
			// The node has no kubelet; the toleration keeps the pods from being evicted.
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "app", Image: "app:1"}},
		},
	}
	for v := range variables {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", v), Value: strings.Repeat("x", length)})
	}
	return pod
}
