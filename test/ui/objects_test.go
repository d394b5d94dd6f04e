package ui

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// create creates an object with its status, and deletes it when the test ends.
func create[T client.Object](t *testing.T, object T) T {
	t.Helper()
	wanted := object.DeepCopyObject().(client.Object)
	if err := server.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("%T %s: %v", object, object.GetName(), err)
	}
	if _, plain := client.Object(object).(*corev1.Namespace); plain {
		return object // It could not be deleted here: nobody would finish that.
	}
	t.Cleanup(func() {
		object.SetFinalizers(nil)
		if err := server.Delete(ctxOf(t), object, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting %T %s: %v", object, object.GetName(), err)
		}
	})
	wanted.SetResourceVersion(object.GetResourceVersion())
	wanted.SetUID(object.GetUID())
	if err := server.Status().Update(t.Context(), wanted); err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("the status of %T %s: %v", object, object.GetName(), err)
	}
	return object
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1, LastTransitionTime: metav1.Now()}
}

func namespace(t *testing.T, name string) {
	t.Helper()
	create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// provider creates a ClusterBinding and its virtual node.
func provider(t *testing.T, id string, ready metav1.Condition) {
	t.Helper()
	binding := &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: id},
		Spec:       v1alpha1.ClusterBindingSpec{ClusterID: id, KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: id + "-kubeconfig"}},
	}
	binding.Status = v1alpha1.ClusterBindingStatus{Conditions: []metav1.Condition{ready}, KubernetesVersion: "v1.36.3", ObservedGeneration: 1}
	create(t, binding)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: v1alpha1.VirtualNodePrefix + id, Labels: map[string]string{v1alpha1.LabelCluster: id, v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual},
	}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(ready.Status), LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
	create(t, node)
}

// offloading creates a NamespaceOffloading. With tiers, the first one is local, and each provider has one of its own.
func offloading(t *testing.T, namespace string, tiers bool, providers ...string) {
	t.Helper()
	nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName}}
	nso.Spec.PodOffloadingStrategy = v1alpha1.PodsRemote
	nso.Spec.Resources = []v1alpha1.OffloadedResource{}
	ready := condition("Ready", "True", "Ready", "")
	nso.Status = v1alpha1.NamespaceOffloadingStatus{Conditions: []metav1.Condition{ready}, ObservedGeneration: 1, OffloadingPhase: v1alpha1.OffloadingPhaseReady}
	if tiers {
		nso.Spec.PodOffloadingStrategy = v1alpha1.PodsLocalAndRemote
		nso.Spec.Overflow, nso.Status.Overflow = []v1alpha1.OverflowTier{{Local: true}}, []v1alpha1.OverflowTierStatus{{}}
	}
	for _, id := range providers {
		nso.Status.RemoteNamespaceConditions = append(nso.Status.RemoteNamespaceConditions, v1alpha1.RemoteNamespaceStatus{
			Cluster: id, RemoteNamespace: namespace + "-home", Conditions: []metav1.Condition{condition("OffloadingRequired", "True", "ClusterSelected", ""), condition("Ready", "True", "Ready", "")},
		})
		if tiers {
			nso.Spec.Overflow = append(nso.Spec.Overflow, v1alpha1.OverflowTier{After: &metav1.Duration{Duration: time.Hour}, ClusterSelector: &v1alpha1.TierSelector{
				NodeSelectorTerms: []v1alpha1.TierSelectorTerm{{MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: "topology.kubernetes.io/region", Operator: corev1.NodeSelectorOpIn, Values: []string{id}}}}},
			}})
			nso.Status.Overflow = append(nso.Status.Overflow, v1alpha1.OverflowTierStatus{Clusters: []string{id}})
		}
	}
	create(t, nso)
}

// pods creates pods that run on a node, or, without one, wait for the scheduler.
func pods(t *testing.T, namespace, prefix, node string, count int, changes ...func(*corev1.Pod)) {
	t.Helper()
	for i := range count {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%02d", prefix, i)}}
		pod.Spec = corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
			Tolerations: []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "c", Image: "none", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "canary-4711"}}, Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("700m"), corev1.ResourceMemory: resource.MustParse("2Gi")},
			}}},
		}
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, ptr.To(metav1.Now())
		if node == "" {
			pod.Status.Phase, pod.Status.StartTime = corev1.PodPending, nil
			pod.Spec.Tolerations[0].Operator, pod.Spec.Tolerations[0].Value = corev1.TolerationOpEqual, "eu"
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: noRoom, LastTransitionTime: metav1.Now()}}
		}
		for _, change := range changes {
			change(pod)
		}
		create(t, pod)
	}
}

const noRoom = "0/4 nodes are available: 2 Insufficient cpu, 2 node(s) had untolerated taint(s)"
