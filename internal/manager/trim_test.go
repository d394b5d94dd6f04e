package manager

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func waitingPodOf(owner string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "web", UID: "1", ResourceVersion: "5", CreationTimestamp: metav1.NewTime(builder.Epoch.Add(-time.Hour)),
			Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Name: "web", UID: "2", Controller: ptr.To(true)}},
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
	again, err := trimWaitingPod(obj) // A cache may transform an object twice.
	if err != nil || again != obj {
		t.Fatalf("trimmed again it is %v, %v", again, err)
	}
	return obj.(*waitingPod).DeepCopyObject().(*corev1.Pod)
}

// TestTrimWaitingPod compares the decisions about a trimmed pod, and the resulting patches, with those
// about the whole pod.
func TestTrimWaitingPod(t *testing.T) {
	nso := builder.Offloading("team").Obj()
	going := waitingPodOf("ReplicaSet")
	going.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
	tolerant := waitingPodOf("ReplicaSet")
	tolerant.Spec.Tolerations = append(tolerant.Spec.Tolerations, corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists})
	refused := waitingPodOf("ReplicaSet")
	refused.Spec.HostNetwork = true
	refused.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
	claiming := waitingPodOf("StatefulSet")
	claiming.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-0"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "other", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	claiming.Status.Conditions, claiming.Status.NominatedNodeName = refused.Status.Conditions, "n"
	described := refused.DeepCopy()
	described.Spec.HostNetwork, described.Spec.Volumes = false, []corev1.Volume{{VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}}}
	overflowing := waitingPodOf("ReplicaSet")
	overflowing.Generation, overflowing.Status.NominatedNodeName = 3, "n"
	overflowing.Annotations[v1alpha1.AnnotationOverflow] = "1=2026-01-02T03:04:05Z"
	overflowing.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		LastTransitionTime: metav1.NewTime(builder.Epoch), ObservedGeneration: 2, Message: "0/3 nodes are available"}}
	sized := func(of *corev1.Pod) *corev1.Pod {
		pod := of.DeepCopy()
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}
		pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
		return pod
	}
	for name, pod := range map[string]*corev1.Pod{
		"it has a size": sized(overflowing), "it has a size, and claims": sized(claiming),
		"it overflows": overflowing, "of a Deployment": waitingPodOf("ReplicaSet"), "of a DaemonSet": waitingPodOf("DaemonSet"), "being deleted": going, "it tolerates all": tolerant,
		"never sent": refused, "not sent everywhere": described, "it names claims": claiming,
	} {
		t.Run(name, func(t *testing.T) {
			small := trimmed(t, pod)
			if diff := cmp.Diff(needs.Claims(pod), needs.Claims(small)); diff != "" {
				t.Errorf("claims (-whole +trimmed):\n%s", diff)
			}
			if diff := cmp.Diff(spill.SizeOf(pod), spill.SizeOf(small)); diff != "" {
				t.Errorf("size (-whole +trimmed):\n%s", diff)
			}
			claims := []unscheduledpod.Claim{{Name: "data-db-0", Refusal: persistentvolumeclaim.NotBound(pod)}}[:min(1, len(needs.Claims(pod)))]
			want, got := unscheduledpod.Decide(pod, nso, []string{"eu"}, claims, builder.Epoch), unscheduledpod.Decide(small, nso, []string{"eu"}, claims, builder.Epoch)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decided (-whole +trimmed):\n%s", diff)
			}
			if diff := cmp.Diff(unscheduledpod.Waiting(pod), unscheduledpod.Waiting(small), cmpopts.IgnoreFields(spill.Waiting{}, "Tolerates")); diff != "" {
				t.Errorf("which tiers it may use (-whole +trimmed):\n%s", diff)
			}
			if diff := cmp.Diff(patch(t, pod, want), patch(t, small, got)); diff != "" {
				t.Errorf("patch (-whole +trimmed):\n%s", diff)
			}
			whole := pod == refused || pod == described // Such pods are rare, and decisions read all of them.
			if small.ManagedFields != nil || !whole && (len(small.Spec.Containers) != min(1, len(spill.SizeOf(pod))) || small.Labels != nil || small.Status.Phase != "") {
				t.Errorf("too much is kept: %+v", small)
			}
		})
	}
}

// TestTrimKeepsWhichNodesAPodAsksFor compares the decisions about the affinity of a trimmed pod and of
// the whole pod.
func TestTrimKeepsWhichNodesAPodAsksFor(t *testing.T) {
	nso := builder.Offloading("team").Obj()
	nso.Spec.PodOffloadingStrategy = v1alpha1.PodsLocal
	pod := waitingPodOf("ReplicaSet")
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
	gone := builder.Offloading("team").Deleted(0).Obj()
	if fate := unscheduledpod.FateOf(small, gone, placement.Index{}); fate != unscheduledpod.Recreated || fate != unscheduledpod.FateOf(pod, gone, placement.Index{}) {
		t.Errorf("when its offloading goes, the trimmed pod is %q", fate)
	}
	if !unscheduledpod.Outdated(pod, nso) || !unscheduledpod.Outdated(small, nso) || small.Spec.Affinity.PodAffinity != nil {
		t.Errorf("of virtual nodes: %+v", small.Spec.Affinity)
	}
	asks("disk")
	if small := trimmed(t, pod); small.Spec.Affinity != nil {
		t.Errorf("of other nodes: %+v", small.Spec.Affinity)
	}
}

// patch returns the patch that adds a plan's tolerations to a pod.
func patch(t *testing.T, pod *corev1.Pod, plan unscheduledpod.Plan) string {
	t.Helper()
	after := pod.DeepCopy()
	after.Spec.Tolerations = append(after.Spec.Tolerations, plan.Tolerations...)
	raw, err := client.MergeFromWithOptions(pod, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestAWaitingPodTakesLittle measures how much memory a cache takes for each pod. Like
// controller-runtime, it uses client-go's Indexer with an index by namespace.
func TestAWaitingPodTakesLittle(t *testing.T) {
	const pods, most, least = 4000, 1024, 256
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	raw, err := typicalPod().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range pods {
		pod := &corev1.Pod{}
		if err := pod.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		pod.Name = fmt.Sprintf("%s-%d", pod.Name, i)
		obj, err := trimWaitingPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		if err := indexer.Add(obj); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / pods
	t.Logf("%d bytes of each pod of %d are kept", each, len(raw))
	if each > most || each < least {
		t.Errorf("%d bytes of each pod are kept, want from %d to %d", each, least, most)
	}
	runtime.KeepAlive(indexer)
}

// typicalPod returns a Deployment's pod, with the additions of admission plugins.
func typicalPod() *corev1.Pod {
	pod := waitingPodOf("ReplicaSet")
	pod.Name, pod.UID, pod.ResourceVersion = "web-67ff8d8774", "6b0ddc5c-1c40-4be0-8d6e-5a6e9f4cbd9d", "123456789"
	pod.OwnerReferences[0].UID, pod.OwnerReferences[0].APIVersion = "6b0ddc5c-1c40-4be0-8d6e-5a6e9f4cbd9e", "apps/v1"
	pod.Spec.Tolerations = nil
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300),
		})
	}
	for i := range 30 {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: strings.Repeat("x", 80)})
	}
	return pod
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
