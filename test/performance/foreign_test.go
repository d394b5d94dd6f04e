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

	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	foreignNamespaces = 10
	foreignNode       = "ordinary"
)

// TestForeign measures the cost of pods that are not Spillway's: most pods of a consumer. Pods without a node
// are a separate case, because Spillway checks whether their namespace is offloaded.
func TestForeign(t *testing.T) {
	const offloaded, short, bound, waiting = 100, 500, 5000, 1000
	s := upSite(t, rig.Options{Name: "foreign", Providers: providers[:1], Nodes: 1, Exempt: []string{unguarded}})
	must(t, s.Bind(t.Context()))
	since := s.start(t)
	s.offload(t, 0, 1)
	s.run(t, offloaded, 0, 1)
	s.foreignGround(t)
	s.settle(t, since)
	show(t, fmt.Sprintf("the lives of %d foreign pods", short), column{"", s.policyCost(t, short)})
	s.settle(t, since)
	none := s.foreign(t, since, 0, foreignNode, 0)
	onNode := s.foreign(t, since, bound, foreignNode, none.heap)
	show(t, "foreign pods", none.column("none"), onNode.column(fmt.Sprintf("%d on a node", bound)),
		s.foreign(t, since, waiting, "", onNode.heap).column(fmt.Sprintf("and %d that wait for one", waiting)))
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

// foreignState is a measurement after n more foreign pods were created.
type foreignState struct {
	heap    int64
	figures []figure
}

func (s foreignState) column(name string) column { return column{name, s.figures} }

// foreign creates n more foreign pods, on a node or without one. It measures when the manager has had the
// time to react. heap is what the manager used before.
func (s *site) foreign(t *testing.T, since time.Time, n int, node string, heap int64) foreignState {
	s.say("%d more foreign pods on the node %q", n, node)
	cpu, figures := s.used(t), s.figures(t)
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, n, func(i int) client.Object { return foreignPod(i, node) }))
	made := time.Now()
	must(t, s.Settled(t.Context(), made, patience))
	s.settle(t, since)
	used := s.used(t) - cpu
	state, because := foreignState{}, s.logOthers(t, s.figures(t).Since(figures))
	var usage measure.Usage
	usage, state.heap = s.usage(t)
	state.figures = []figure{
		count("requests because of them", because).exactly(0),
		measured("heap, MB", "%.1f", inMB(state.heap)),
		measured("RSS, MB", "%.1f", inMB(usage.RSS)),
		measured("CPU seconds meanwhile", "%.2f", used),
	}
	if n > 0 {
		state.figures = append(state.figures, measured("heap for each, bytes", "%.0f", float64(state.heap-heap)/float64(n)))
	}
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
