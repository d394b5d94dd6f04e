//go:build bench

package performance

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// unguarded is the namespace to which no policy of Spillway applies.
const unguarded = "foreign-unguarded"

// policyCost returns the CPU that the consumer's API server needs for the lives of n foreign pods, compared
// with the same without Spillway's policies. Both run in turn.
func (s *site) policyCost(t *testing.T, n int) []figure {
	must(t, s.Consumer.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unguarded}}))
	must(t, rig.Eventually(t.Context(), patience, func(ctx context.Context) error {
		return s.Consumer.Watched.Get(ctx, client.ObjectKey{Namespace: unguarded, Name: "default"}, &corev1.ServiceAccount{})
	}))
	clients := clientset(t, s.Consumer)
	with, without := clients.CoreV1().Pods(foreignNamespace(0)), clients.CoreV1().Pods(unguarded)
	s.foreignLives(t, warmUp, without)
	s.foreignLives(t, warmUp, with)
	var ratios []float64
	var each [2]float64
	for range rounds {
		each[0], each[1] = s.foreignLives(t, n, without), s.foreignLives(t, n, with)
		s.say("%d foreign pods: the API server needs %.1f ms a pod, without policies %.1f", n, each[1], each[0])
		ratios = append(ratios, each[1]/each[0])
	}
	return []figure{
		measured("CPU of the API server, ms a pod, without policies", "%.1f", each[0]),
		measured("with them", "%.1f", each[1]),
		measured("ratio, median", "%.2f", median(ratios)),
	}
}

// foreignLives creates n pods, and does what a user and a kubelet do with them until they are gone: two
// statuses and two deletions. It returns the CPU time of the consumer's API server, in milliseconds a pod.
func (s *site) foreignLives(t *testing.T, n int, pods typedcorev1.PodInterface) float64 {
	before, err := apiServerSeconds(s.Consumer)
	must(t, err)
	must(t, rig.ForEach(t.Context(), n, func(ctx context.Context, i int) error {
		pod := foreignPod(i, foreignNode)
		pod.Name, pod.Namespace = "short-"+pod.Name, ""
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
		for _, step := range []func() error{
			func() error { return patchStatus(ctx, pods, pod.Name, "Running", "True") },
			func() error { return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}) },
			func() error { return patchStatus(ctx, pods, pod.Name, "Succeeded", "False") },
			func() error { return pods.Delete(ctx, pod.Name, *metav1.NewDeleteOptions(0)) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}))
	after, err := apiServerSeconds(s.Consumer)
	must(t, err)
	return 1000 * (after - before) / float64(n)
}

// patchStatus writes a status as a kubelet does.
func patchStatus(ctx context.Context, pods typedcorev1.PodInterface, name, phase, ready string) error {
	patch := fmt.Sprintf(`{"status":{"phase":%q,"podIP":"10.0.0.1","conditions":[{"type":"Ready","status":%q}]}}`, phase, ready)
	_, err := pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
