package unscheduledpod

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestStrayed(t *testing.T) {
	offloaded := metav1.NewTime(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	const remote = v1alpha1.PodsRemote
	tolerates := func(t corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{t} }
	}
	for name, test := range map[string]struct {
		strategy v1alpha1.PodOffloadingStrategy
		change   func(*corev1.Pod)
		want     bool
	}{
		"missed":                 {remote, func(*corev1.Pod) {}, true},
		"missed at once":         {remote, func(p *corev1.Pod) { p.CreationTimestamp = offloaded }, true},
		"not on a node yet":      {remote, func(p *corev1.Pod) { p.Spec.NodeName = "" }, true},
		"it may run anywhere":    {v1alpha1.PodsLocalAndRemote, func(*corev1.Pod) {}, false},
		"older":                  {remote, func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(offloaded.Add(-time.Second)) }, false},
		"prepared":               {remote, tolerates(corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}), false},
		"given tolerations late": {remote, tolerates(corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}), true},
		"of a DaemonSet":         {remote, func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet"}} }, false},
		"static":                 {remote, func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }, false},
		"ended":                  {remote, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false},
		"failed":                 {remote, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		"being deleted":          {remote, func(p *corev1.Pod) { p.DeletionTimestamp = &offloaded }, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(offloaded.Add(time.Hour))}, Spec: corev1.PodSpec{NodeName: "local"}}
			test.change(pod)
			nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: offloaded}, Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: test.strategy}}
			want := ""
			if test.want {
				want = "podOffloadingStrategy is Remote, but the pod is on the local node " + pod.Spec.NodeName +
					": spillway-pods did not change it at admission, or it was created under an earlier spec; delete it, and its controller recreates it. " +
					"If that does not help, the manager's webhook does not answer the API server: kubectl spillway doctor"
			}
			node := pod.Spec.NodeName
			if got := LocalNodeWarning(pod, nso); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if pod.Spec.NodeName != node {
				t.Error("the pod was changed")
			}
		})
	}
}
