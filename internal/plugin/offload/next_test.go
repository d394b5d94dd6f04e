package offload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestAdvice(t *testing.T) {
	pod := func(name, node, kind, owner string, changes ...func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"pod-template-hash": "5f"}}, Spec: corev1.PodSpec{NodeName: node}}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: map[string]string{"Job": "batch/v1"}[kind], Kind: kind, Name: owner, Controller: ptr.To(true)}}
			if kind != "Job" {
				p.OwnerReferences[0].APIVersion = "apps/v1"
			}
		}
		for _, change := range changes {
			change(&p)
		}
		return p
	}
	prepared := func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode}} }
	claims := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}
	done := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	web, db := pod("web-5f-a", "n", "ReplicaSet", "web-5f"), pod("db-0", "n", "StatefulSet", "db", claims)
	var many []corev1.Pod
	for _, name := range strings.Split("abcdef", "") {
		many = append(many, pod(name, "n", "ReplicaSet", name+"-5f"))
	}
	const why = " -n shop, because running pods stay where they are"
	for name, test := range map[string]struct {
		strategy v1alpha1.PodOffloadingStrategy
		overflow []v1alpha1.OverflowTier
		pods     []corev1.Pod
		want     []string
	}{
		"none": {v1alpha1.PodsRemote, nil, nil, nil},
		"both kinds, once": {v1alpha1.PodsRemote, nil, []corev1.Pod{web, db, pod("web-5f-b", "n", "ReplicaSet", "web-5f", prepared)},
			[]string{"Next: kubectl rollout restart deployment/web statefulset/db" + why}},
		"many":               {v1alpha1.PodsRemote, nil, append(many, db), []string{"Next: kubectl rollout restart deployment,statefulset" + why}},
		"without a workload": {v1alpha1.PodsRemote, nil, []corev1.Pod{pod("bare", "n", "", ""), pod("set-a", "n", "ReplicaSet", "set")}, []string{"These stay in this cluster until they are deleted and created again: 2 pods (shop/bare, shop/set-a)"}},
		"they move, or end":  {v1alpha1.PodsRemote, nil, []corev1.Pod{pod("there", "spillway-eu", "", ""), pod("waits", "", "", "", prepared), pod("done", "n", "", "", done), pod("job", "n", "Job", "x"), pod("agent", "n", "DaemonSet", "agent")}, nil},
		"they may be here":   {v1alpha1.PodsLocalAndRemote, nil, []corev1.Pod{pod("web", "n", "", "", prepared), db}, nil},
		"from before":        {v1alpha1.PodsLocalAndRemote, nil, []corev1.Pod{web}, []string{"Next: kubectl rollout restart deployment/web" + why}},
		"here first":         {v1alpha1.PodsLocalFirst, nil, []corev1.Pod{web}, nil},
		"a tier here first":  {v1alpha1.PodsLocalAndRemote, []v1alpha1.OverflowTier{{Local: true}, {}}, []corev1.Pod{web}, nil},
	} {
		offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: test.strategy, Overflow: test.overflow}}
		if diff := cmp.Diff(test.want, advice(offloading, test.pods)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
