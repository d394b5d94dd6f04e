package world

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// podIP is the address of every pod. It is always the same, so that it need not be masked.
const podIP = "10.0.0.1"

// LabelNoRoom is a label of pods for which the scheduler of the provider with that name finds no node.
const LabelNoRoom = "no-room-in"

// kubelet plays the scheduler and the kubelet of a provider. It binds every pod to the one node, runs it, and
// ends it at once when it is deleted.
func kubelet(mgr ctrl.Manager, c *rig.Cluster) error {
	return follow(mgr, "kubelet", &corev1.Pod{}, func(ctx context.Context, pod *corev1.Pod) error {
		if pod.Labels[LabelNoRoom] == c.ID && pod.DeletionTimestamp.IsZero() {
			return findsNone(ctx, c.Admin, pod)
		}
		return handle(ctx, c.Admin, pod)
	})
}

// findsNone reports that the scheduler finds no node for a pod.
func findsNone(ctx context.Context, admin client.Client, pod *corev1.Pod) error {
	if len(pod.Status.Conditions) > 0 {
		return nil
	}
	setCondition(&pod.Status, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/1 nodes are available: 1 Insufficient cpu.", LastTransitionTime: metav1.Now(),
	})
	return admin.Status().Update(ctx, pod)
}

// handle sends the next write for a pod. The watch then shows the pod again for the write after that. A write
// that was decided on an old version changes nothing.
func handle(ctx context.Context, admin client.Client, pod *corev1.Pod) error {
	switch {
	case strings.HasPrefix(pod.Namespace, "kube-"):
		return nil
	case !pod.DeletionTimestamp.IsZero():
		return admin.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	case pod.Spec.NodeName == "":
		return admin.SubResource("binding").Create(ctx, pod, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName},
		})
	case pod.Status.Phase == corev1.PodPending:
		pod.Status = statusOf(pod, corev1.PodRunning)
		return admin.Status().Update(ctx, pod)
	}
	return nil
}

// statusOf returns the status that a kubelet reports for a pod in that phase.
func statusOf(pod *corev1.Pod, phase corev1.PodPhase) corev1.PodStatus {
	now, runs := metav1.Now(), phase == corev1.PodRunning
	ready := corev1.ConditionFalse
	if runs {
		ready = corev1.ConditionTrue
	}
	status := *pod.Status.DeepCopy()
	status.Phase, status.PodIP, status.HostIP = phase, podIP, podIP
	status.PodIPs, status.HostIPs = []corev1.PodIP{{IP: podIP}}, []corev1.HostIP{{IP: podIP}}
	if status.StartTime == nil {
		status.StartTime = &now
	}
	setCondition(&status, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now})
	setCondition(&status, corev1.PodCondition{Type: corev1.ContainersReady, Status: ready, LastTransitionTime: now})
	setCondition(&status, corev1.PodCondition{Type: corev1.PodReady, Status: ready, LastTransitionTime: now})
	status.ContainerStatuses = nil
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		is := corev1.ContainerStatus{Name: container.Name, Image: container.Image, Ready: runs, Started: ptr.To(runs)}
		if runs {
			is.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
		} else {
			is.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: *status.StartTime, FinishedAt: now}
		}
		status.ContainerStatuses = append(status.ContainerStatuses, is)
	}
	return status
}

// setCondition replaces a condition in its place, or adds it.
func setCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == condition.Type {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

// Succeed does what a provider's kubelet does when all containers of a pod have exited with 0. The pod must
// be Running.
func (w *World) Succeed(ctx context.Context, provider, namespace, name string) error {
	admin, pod := w.Cluster(provider).Admin, &corev1.Pod{}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s/%s of provider %s is %s, and cannot succeed", namespace, name, provider, pod.Status.Phase)
		}
		pod.Status = statusOf(pod, corev1.PodSucceeded)
		err := admin.Status().Update(ctx, pod)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("pod %s/%s of provider %s is gone: %w", namespace, name, provider, err)
		}
		return err
	})
}
