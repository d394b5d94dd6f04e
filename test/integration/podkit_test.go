package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// newPodSpec is a spec that tolerates virtual nodes. It has a short grace period: before Kubernetes deletes a
// namespace, it waits for half of what its pods have.
func newPodSpec() corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](1),

		Containers:  []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
		Tolerations: []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
	}
}

// runPod creates a pod that is bound to the virtual node of a binding.
func (c *controlPlane) runPod(cb *v1alpha1.ClusterBinding, namespace string, options ...func(*corev1.Pod)) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: unique("pod")}, Spec: newPodSpec()}
	pod.Spec.NodeName = cb.VirtualNodeName()
	for _, option := range options {
		option(pod)
	}
	c.make(pod)
	return pod
}

// remotePod waits for the remote pod of a local one.
func (c *controlPlane) remotePod(cb *v1alpha1.ClusterBinding, local *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	var found *corev1.Pod
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(c.List(ctx, &pods, client.MatchingLabels{v1alpha1.LabelBinding: cb.Spec.ClusterID})).To(Succeed())
		var all []*corev1.Pod
		for i := range pods.Items {
			if pods.Items[i].Annotations[v1alpha1.AnnotationLocalUID] == string(local.UID) {
				all = append(all, &pods.Items[i])
			}
		}
		g.Expect(all).To(HaveLen(1))
		found = all[0]
	}).Should(Succeed(), "exactly one remote pod should stand for %s/%s", local.Namespace, local.Name)
	return found
}

// setPodStatus reports a status as the kubelet of a pod that runs or has ended.
func (c *controlPlane) setPodStatus(pod *corev1.Pod, phase corev1.PodPhase, options ...func(*corev1.PodStatus)) {
	GinkgoHelper()
	ready := corev1.ConditionFalse
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.Now(), FinishedAt: metav1.Now(), ContainerID: "x://1"}}
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	}
	before := pod.DeepCopy()
	now := metav1.Now()
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs, pod.Status.StartTime = phase, "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}, &now
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: ready, LastTransitionTime: now},
		{Type: corev1.ContainersReady, Status: ready, LastTransitionTime: now},
	}
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: "id", ContainerID: "x://1", Ready: phase == corev1.PodRunning, State: state,
		})
	}
	for _, option := range options {
		option(&pod.Status)
	}
	Expect(c.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}

// findsNoNode plays a scheduler that has found no node for a pod for an hour.
func (c *controlPlane) findsNoNode(pod *corev1.Pod, message string) {
	GinkgoHelper()
	before := pod.DeepCopy()
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)), ObservedGeneration: pod.Generation,
	})
	Expect(c.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
}

// podPhase reads the current phase of a pod.
func (c *controlPlane) podPhase(pod *corev1.Pod) func() (corev1.PodPhase, error) {
	current := pod.DeepCopy()
	return func() (corev1.PodPhase, error) {
		err := c.fetching(current)()
		return current.Status.Phase, err
	}
}

// nodeOfPods is the node of a provider whose kubelet the specs play.
const nodeOfPods = "played-by-the-specs"

// schedule binds a pod to a node, as a scheduler would. A pod without a node is deleted without any grace
// period. The node must exist, because Kubernetes deletes pods of missing nodes. It is neither ready nor
// schedulable, so that it adds nothing to the capacity of virtual nodes. It has room for pods that are
// resized.
func (c *controlPlane) schedule(pod *corev1.Pod) {
	GinkgoHelper()
	node := providerNode("64", "64Gi")
	node.Name, node.Spec.Unschedulable, node.Status.Conditions = nodeOfPods, true, nil
	Expect(client.IgnoreAlreadyExists(c.Create(ctx, node))).To(Succeed())
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeOfPods}}
	Expect(c.SubResource("binding").Create(ctx, pod, binding)).To(Succeed())
	Expect(c.fetching(pod)()).To(Succeed())
}
