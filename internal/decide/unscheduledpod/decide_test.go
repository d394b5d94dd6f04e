package unscheduledpod

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

const taint = "spillway.io/virtual-node"

func waiting(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pod"}}
	change(pod)
	return pod
}

func tolerating(tolerations ...corev1.Toleration) *corev1.Pod {
	return waiting(func(p *corev1.Pod) { p.Spec.Tolerations = tolerations })
}

func of(clusterID string) corev1.Toleration {
	return corev1.Toleration{Key: taint, Operator: corev1.TolerationOpEqual, Value: clusterID, Effect: corev1.TaintEffectNoSchedule}
}

func TestDecide(t *testing.T) {
	const begin = "the pod is older than its NamespaceOffloading: it may run on the virtual nodes of "
	plain := waiting(func(*corev1.Pod) {})
	offloading := builder.Offloading("team").Obj()
	both := Plan{Tolerations: []corev1.Toleration{of("eu"), of("us")}, Reason: ReasonOffloadedLate, Message: begin + "eu, us from now on"}
	us := Plan{Tolerations: []corev1.Toleration{of("us")}, Reason: ReasonOffloadedLate, Message: begin + "eu, us from now on"}
	isTrue := true
	tests := map[string]struct {
		pod  *corev1.Pod
		nso  *v1alpha1.NamespaceOffloading
		want Plan
	}{
		"not offloaded":          {plain, nil, Plan{}},
		"not offloaded any more": {plain, builder.Offloading("team").Deleted(time.Hour).Obj(), Plan{}},
		"pods stay at home":      {plain, builder.Offloading("team").Pods(v1alpha1.PodsLocal).Obj(), Plan{}},
		"bound already":          {waiting(func(p *corev1.Pod) { p.Spec.NodeName = "node" }), offloading, Plan{}},
		"being deleted":          {waiting(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }), offloading, Plan{}},
		"of a DaemonSet": {waiting(func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &isTrue}}
		}), offloading, Plan{}},
		"of a DaemonSet that is offloaded": {waiting(func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &isTrue}}
			p.Annotations = map[string]string{"spillway.io/offload-daemonset": "true"}
		}), offloading, Plan{}},
		"made since": {waiting(func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(builder.Epoch.Add(time.Hour)) }), offloading, Plan{Tolerations: both.Tolerations, Reason: both.Reason, Message: "spillway-pods did not change the pod at admission: it may run on the virtual nodes of eu, us from now on"}},
		"of a ReplicaSet": {waiting(func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Controller: &isTrue}}
		}), offloading, both},
		"plain":                       {plain, offloading, both},
		"of no strategy, the default": {plain, builder.Offloading("team").Pods("").Obj(), both},
		"Remote": {plain, builder.Offloading("team").Pods(v1alpha1.PodsRemote).Obj(), Plan{Tolerations: both.Tolerations, Reason: both.Reason, Message: both.Message +
			", but its affinity is immutable, so it may also run on a local node; delete it, and its controller recreates it with podOffloadingStrategy Remote"}},
		"LocalFirst": {plain, builder.Offloading("team").Pods(v1alpha1.PodsLocalFirst).Obj(), Plan{Tolerations: both.Tolerations, Reason: both.Reason, Message: both.Message +
			", without the preference for local nodes; delete it, and its controller recreates it with podOffloadingStrategy LocalFirst"}},
		"tolerates one":                  {tolerating(of("eu")), offloading, us},
		"tolerates one, for any effect":  {tolerating(corev1.Toleration{Key: taint, Value: "eu"}), offloading, us},
		"tolerates both":                 {tolerating(of("us"), of("eu")), offloading, Plan{}},
		"tolerates every virtual node":   {tolerating(corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists}), offloading, Plan{}},
		"tolerates everything":           {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), offloading, Plan{}},
		"tolerates a value of no key":    {tolerating(corev1.Toleration{Operator: corev1.TolerationOpEqual, Value: "eu"}), offloading, both},
		"tolerates another effect":       {tolerating(corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), offloading, both},
		"tolerates another key":          {tolerating(corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}), offloading, both},
		"tolerates another virtual node": {tolerating(of("ap")), offloading, both},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Decide(test.pod, test.nso, []string{"eu", "us"}, nil, builder.Epoch)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			then := test.pod.DeepCopy()
			then.Spec.Tolerations = append(then.Spec.Tolerations, got.Tolerations...)
			if again := Decide(then, test.nso, []string{"eu", "us"}, nil, builder.Epoch); len(again.Tolerations) > 0 || again.Message != "" {
				t.Errorf("once they are there, it asks for %v, and says %q", again.Tolerations, again.Message)
			}
		})
	}
	if got := Decide(plain, offloading, nil, nil, builder.Epoch); len(got.Tolerations) > 0 || got.Message != "" {
		t.Errorf("no provider is selected, and it asks for %v", got)
	}
}

// TestDecideDescribed tests pods that only some providers accept. The admission policy limits them to those
// providers. Pods that the policy has not changed get no toleration.
func TestDecideDescribed(t *testing.T) {
	const describes, key = "the pod has inline volumes, which a provider must allow", "label spillway.io/volume-nfs"
	late := waiting(func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}}}
	})
	made, never := late.DeepCopy(), late.DeepCopy()
	made.Spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}}
	never.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	for name, test := range map[string]struct {
		pod      *corev1.Pod
		strategy v1alpha1.PodOffloadingStrategy
		want     string // Once there is no room; no message before.
	}{
		"late":                  {late, v1alpha1.PodsLocalAndRemote, describes + " (" + key + " of its virtual node), but its affinity is immutable: it waits for one of the consumer's own nodes; delete it so that its controller recreates it"},
		"as the policy made it": {made, v1alpha1.PodsLocalFirst, describes + ": it waits for a virtual node with the " + key + ", or for one of the consumer's own nodes"},
		"Remote":                {made, v1alpha1.PodsRemote, ""},
		"never sent":            {never, v1alpha1.PodsLocalAndRemote, "no provider can run the pod, so it waits for one of the consumer's own nodes: " + accept.BaselineRefusal(never).Message},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Pods(test.strategy).Obj()
			if diff := cmp.Diff(Plan{}, Decide(test.pod, nso, []string{"eu", "us"}, nil, builder.Epoch)); diff != "" {
				t.Errorf("before the scheduler has looked at it (-want +got)\n%s", diff)
			}
			pod, want := test.pod.DeepCopy(), Plan{}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
			if test.want != "" {
				want = Plan{Reason: ReasonStaysLocal, Message: test.want}
			}
			if diff := cmp.Diff(want, Decide(pod, nso, []string{"eu", "us"}, nil, builder.Epoch)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestDecideNeverSent tests pods that hardly any provider accepts. They get no toleration, and a message once
// they wait.
func TestDecideNeverSent(t *testing.T) {
	refused := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
	unschedulable := func(p *corev1.Pod) {
		refused(p)
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}
	}
	saying := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			refused(p)
			p.Status.Conditions = []corev1.PodCondition{{Type: kind, Status: status, Reason: reason}}
		}
	}
	told := Plan{Reason: ReasonStaysLocal, Message: "the pod exceeds pod security baseline, so only a provider that allows this can run it, " +
		"and only if it is created with podOffloadingStrategy Remote; it waits for one of the consumer's own nodes: " +
		accept.BaselineRefusal(waiting(refused)).Message}
	tests := map[string]struct {
		pod  *corev1.Pod
		nso  *v1alpha1.NamespaceOffloading
		want Plan
	}{
		"not yet looked at by the scheduler": {waiting(refused), builder.Offloading("team").Obj(), Plan{}},
		"it is not ready":                    {waiting(saying(corev1.PodReady, corev1.ConditionFalse, corev1.PodReasonUnschedulable)), builder.Offloading("team").Obj(), Plan{}},
		"it has a node":                      {waiting(saying(corev1.PodScheduled, corev1.ConditionTrue, corev1.PodReasonUnschedulable)), builder.Offloading("team").Obj(), Plan{}},
		"the scheduler fails":                {waiting(saying(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonSchedulerError)), builder.Offloading("team").Obj(), Plan{}},
		"there is no room":                   {waiting(unschedulable), builder.Offloading("team").Obj(), told},
		"there is no room, Remote":           {waiting(unschedulable), builder.Offloading("team").Pods(v1alpha1.PodsRemote).Obj(), told},
		"there is no room, Local":            {waiting(unschedulable), builder.Offloading("team").Pods(v1alpha1.PodsLocal).Obj(), Plan{}},
		"there is no room, it tolerates a lot": {waiting(func(p *corev1.Pod) {
			unschedulable(p)
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}), builder.Offloading("team").Obj(), Plan{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Decide(test.pod, test.nso, []string{"eu", "us"}, nil, builder.Epoch), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
