package manager

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/latecomer"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func waitingPod(owner string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "web", UID: "1", ResourceVersion: "5", CreationTimestamp: metav1.NewTime(builder.Epoch.Add(-time.Hour)),
			Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"},
			OwnerReferences: []metav1.OwnerReference{{Kind: owner, Name: "web", UID: "2", Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "web", Image: "web:1", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}},
			Tolerations: []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func trimmed(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	obj, err := trimWaitingPod(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*corev1.Pod)
}

// TestTrimWaitingPod holds what is decided about a trimmed pod against what is
// decided about the whole one, and the patches that follow from it.
func TestTrimWaitingPod(t *testing.T) {
	nso := builder.Offloading("team").Obj()
	going := waitingPod("ReplicaSet")
	going.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
	tolerant := waitingPod("ReplicaSet")
	tolerant.Spec.Tolerations = append(tolerant.Spec.Tolerations, corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists})
	refused := waitingPod("ReplicaSet")
	refused.Spec.HostNetwork = true
	refused.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
	for name, pod := range map[string]*corev1.Pod{
		"of a Deployment": waitingPod("ReplicaSet"), "of a DaemonSet": waitingPod("DaemonSet"), "being deleted": going, "it tolerates all": tolerant,
		"never sent": refused,
	} {
		t.Run(name, func(t *testing.T) {
			small := trimmed(t, pod)
			want, got := latecomer.Decide(pod, nso, []string{"eu"}), latecomer.Decide(small, nso, []string{"eu"})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decided (-whole +trimmed):\n%s", diff)
			}
			if diff := cmp.Diff(patch(t, pod, want), patch(t, small, got)); diff != "" {
				t.Errorf("patch (-whole +trimmed):\n%s", diff)
			}
			whole := pod == refused // It is rare, and all of it is looked at.
			if small.ManagedFields != nil || !whole && (small.Spec.Containers != nil || small.Labels != nil || small.Status.Phase != "") {
				t.Errorf("too much is kept: %+v", small)
			}
		})
	}
}

// TestTrimKeepsWhichNodesAPodAsksFor holds what is decided about the affinity of a
// trimmed pod against what is decided about that of the whole one.
func TestTrimKeepsWhichNodesAPodAsksFor(t *testing.T) {
	nso := builder.Offloading("team").Obj()
	nso.Spec.PodOffloadingStrategy = v1alpha1.PodsLocal
	pod := waitingPod("ReplicaSet")
	asks := func(key string) {
		pod.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{},
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}}},
			}}},
		}
	}
	asks(v1alpha1.LabelNodeType)
	small := trimmed(t, pod)
	if !latecomer.Outdated(pod, nso) || !latecomer.Outdated(small, nso) || small.Spec.Affinity.PodAffinity != nil {
		t.Errorf("of virtual nodes: %+v", small.Spec.Affinity)
	}
	asks("disk")
	if small := trimmed(t, pod); small.Spec.Affinity != nil {
		t.Errorf("of other nodes: %+v", small.Spec.Affinity)
	}
}

// patch is what adds the tolerations of a plan to a pod.
func patch(t *testing.T, pod *corev1.Pod, plan latecomer.Plan) string {
	t.Helper()
	after := pod.DeepCopy()
	after.Spec.Tolerations = append(after.Spec.Tolerations, plan.Tolerations...)
	raw, err := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestTrimForeignNode(t *testing.T) {
	foreign := builder.Node("n").Label("a", "b").Allocatable(corev1.ResourceCPU, "1").Obj()
	obj, err := trimForeignNode(foreign.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	if node := obj.(*corev1.Node); node.Name != "n" || node.Labels != nil || node.Status.Allocatable != nil {
		t.Errorf("of a node that is not ours there is %+v", node)
	}
	for name, ours := range map[string]*corev1.Node{
		"by its label": builder.Node("n").Label(v1alpha1.LabelNodeType, v1alpha1.NodeTypeVirtual).Label("a", "b").Obj(),
		"by its owner": builder.Node("n").Label("a", "b").OwnedBy(builder.Binding("eu").Obj()).Obj(),
	} {
		obj, err := trimForeignNode(ours.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ours, obj); diff != "" {
			t.Errorf("%s, it is ours (-want +got):\n%s", name, diff)
		}
	}
}
