package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

func TestInTheWay(t *testing.T) {
	bind := func(name, clusterID, secret string) offloadingv1alpha1.ClusterBinding {
		return offloadingv1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: offloadingv1alpha1.ClusterBindingSpec{
			ClusterID: clusterID, KubeconfigSecretRef: offloadingv1alpha1.KubeconfigSecretReference{Name: secret},
		}}
	}
	tests := map[string]struct {
		binding offloadingv1alpha1.ClusterBinding
		want    string
	}{
		"the demo's own":           {bind("us", "us", "us-kubeconfig"), ""},
		"somebody else's":          {bind("ap", "ap", "ap-kubeconfig"), ""},
		"bound under another name": {bind("america", "america", "us-kubeconfig"), "delete clusterbinding america"},
		"the clusterID is taken":   {bind("america", "us", "other"), "delete clusterbinding america"},
		"the name is taken":        {bind("us", "america", "us-kubeconfig"), "delete clusterbinding us"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := inTheWay([]offloadingv1alpha1.ClusterBinding{bind("eu", "eu", "eu-kubeconfig"), test.binding})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("found %v, want %q", err, test.want)
			}
		})
	}
}

func TestAtHome(t *testing.T) {
	pod := func(node string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: ptr.To(true)}}},
			Spec:       corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		change(&p)
		return p
	}
	same := func(*corev1.Pod) {}
	tests := map[string]struct {
		pod  corev1.Pod
		want bool
	}{
		"in a provider":         {pod("spillway-eu", same), false},
		"at home":               {pod("consumer-node-1", same), true},
		"at home, and finished": {pod("consumer-node-1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), false},
		"at home, and going":    {pod("consumer-node-1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{}; *p.DeletionTimestamp = metav1.Now() }), false},
		"made by hand":          {pod("consumer-node-1", func(p *corev1.Pod) { p.OwnerReferences = nil }), false},
		"waiting, for any node": {pod("", same), true},
		"waiting, for a provider": {pod("", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}}
		}), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := len(atHome([]corev1.Pod{test.pod})) == 1; got != test.want {
				t.Errorf("it is at home: %t", got)
			}
		})
	}
}
