package doctor

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestStrayed(t *testing.T) {
	offloading := func(strategy v1alpha1.PodOffloadingStrategy) *v1alpha1.NamespaceOffloading {
		return &v1alpha1.NamespaceOffloading{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: v1alpha1.OffloadingName},
			Spec:       v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: strategy},
		}
	}
	on := func(namespace, node string, tolerations ...corev1.Toleration) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "on-" + node}}
		pod.Spec.NodeName, pod.Spec.Tolerations = node, tolerations
		return pod
	}
	prepared := on("team", "other", corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists})
	pods := []corev1.Pod{on("team", "node"), on("team", ""), on("team", "spillway-eu"), on("another", "node"), prepared}
	if got := strayed(offloading(v1alpha1.PodsRemote), pods); !slices.Equal(got, []string{"on-node"}) {
		t.Errorf("Remote: got %v", got)
	}
	if got := strayed(offloading(v1alpha1.PodsLocalAndRemote), pods); len(got) > 0 {
		t.Errorf("LocalAndRemote: got %v", got)
	}
}

func TestStraysAreNamed(t *testing.T) {
	finding := ofStrays("team", []string{"a", "b", "c", "d", "e", "f", "g"})
	if finding.Level != Warning || !strings.HasSuffix(finding.Message, ": a, b, c, d, e and 2 more") {
		t.Errorf("got %+v", finding)
	}
}
