package plugin

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// drains empties a provider against a PodDisruptionBudget, and lets pods back in.
func drains(t *testing.T) {
	if err := inConsumer.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-d"}}); err != nil {
		t.Fatal(err)
	}
	does(t, "offload", "team-d", "--strategy", "Remote")
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team-d", Name: "web"}, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](1), Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "team-d", Name: "all"}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: selector, MinAvailable: ptr.To(intstr.FromInt32(1)),
	}}
	for _, object := range []client.Object{set, budget} {
		if err := inConsumer.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	running := func() int {
		pods, count := &corev1.PodList{}, 0
		if err := inConsumer.List(t.Context(), pods, client.InNamespace("team-d")); err != nil {
			t.Fatal(err)
		}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].Spec.NodeName == "spillway-eu" && pods.Items[i].DeletionTimestamp.IsZero() {
				count++
			}
		}
		return count
	}
	cordoned := func() bool {
		return get(t, inConsumer, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu"}}).Spec.Unschedulable
	}
	marked := func() bool {
		binding := get(t, inConsumer, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}})
		return binding.Annotations[v1alpha1.AnnotationDrained] == v1alpha1.DrainedTrue
	}
	eventually(t, "the pod runs, and the budget knows it", func() bool {
		return running() == 1 && get(t, inConsumer, budget).Status.CurrentHealthy == 1
	})
	if dry := does(t, "drain", "eu", "--dry-run"); len(dry["evicted"]) != 1 || len(dry["cordoned"]) != 1 || cordoned() || marked() {
		t.Errorf("the dry run did %v", dry)
	}
	for _, command := range []string{"drain", "uncordon"} {
		fails(t, "there is no ClusterBinding us; existing ones: eu", command, "us")
	}
	givesUp(t, "refuses to evict", "whose nodes stay cordoned", "drain", "eu")
	if !cordoned() || !marked() || running() != 1 {
		t.Error("the pod is gone, or new ones may come")
	}
	if err := inConsumer.Delete(t.Context(), budget); err != nil {
		t.Fatal(err)
	}
	if did := does(t, "drain", "eu"); len(did["evicted"]) != 1 || running() != 0 {
		t.Errorf("it did %v", did)
	}
	if did := does(t, "uncordon", "eu"); len(did["uncordoned"]) != 1 || cordoned() || marked() {
		t.Errorf("it did %v", did)
	}
	eventually(t, "a new pod runs there", func() bool { return running() == 1 })
	if again := does(t, "uncordon", "eu"); len(again["unchanged"]) != 1 {
		t.Errorf("the second time it did %v", again)
	}
}
