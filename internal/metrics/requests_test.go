package metrics

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestRequests(t *testing.T) {
	pod := func(namespace string, phase corev1.PodPhase, requests corev1.ResourceList) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, UID: "u", Annotations: map[string]string{v1alpha1.AnnotationRemoteUID: "r", v1alpha1.AnnotationRemoteFor: "u"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	list := func(pairs ...string) corev1.ResourceList {
		all := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			all[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return all
	}
	unsent := pod("a", corev1.PodPending, list("cpu", "7"))
	unsent.Annotations = nil
	got := requestsOf([]corev1.Pod{
		pod("a", corev1.PodRunning, list("cpu", "1500m", "memory", "1Gi")), pod("a", corev1.PodPending, list("cpu", "500m", "nvidia.com/gpu", "2")),
		pod("a", corev1.PodSucceeded, list("cpu", "9")), pod("b", corev1.PodFailed, list("cpu", "9")), unsent, pod("c", corev1.PodRunning, nil),
	})
	want := map[string]map[corev1.ResourceName]float64{
		"a": {"cpu": 2, "memory": 1 << 30, "nvidia.com/gpu": 2, "pods": 2},
		"c": {"pods": 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	many := corev1.ResourceList{}
	for i := range 100 {
		many[corev1.ResourceName(fmt.Sprintf("hugepages-%dMi", i+1))] = resource.MustParse("1")
		many[corev1.ResourceName(fmt.Sprintf("example.com/%02d", i))] = resource.MustParse("1")
	}
	got = requestsOf([]corev1.Pod{pod("a", corev1.PodRunning, many), pod("b", corev1.PodRunning, list("example.com/99", "1"))})
	if n := len(got["a"]); n != mostExtended+1 {
		t.Errorf("%d resources are shown, want %d", n, mostExtended+1)
	}
	if got["b"]["example.com/99"] != 1 {
		t.Error("a resource that more pods request is left out")
	}
}
