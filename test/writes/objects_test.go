package writes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// newPod returns a pod of rig.Namespace(i) that waits for a scheduler.
func newPod(i int, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(i).GetName(), Name: name},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
			TerminationGracePeriodSeconds: ptr.To[int64](30),
		},
	}
}

// using makes the pod need a ConfigMap and a Secret.
func using(pod *corev1.Pod, configMap, secret string) {
	pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}},
	}
}

func newConfigMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"key": name}}
}

func newSecret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"key": []byte(name)}}
}

// running returns the status that a kubelet gives a pod whose container was restarted this many times.
func running(pod *corev1.Pod, restarts int32) corev1.PodStatus {
	now := metav1.Now()
	return status(pod, corev1.PodRunning, corev1.ContainerStatus{
		Ready: true, Started: ptr.To(true), RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	})
}

// ended returns the status of a pod whose container has ended.
func ended(pod *corev1.Pod, phase corev1.PodPhase, exitCode int32) corev1.PodStatus {
	now := metav1.Now()
	return status(pod, phase, corev1.ContainerStatus{Started: ptr.To(false), State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: exitCode, StartedAt: now, FinishedAt: now, ContainerID: "containerd://1",
	}}})
}

func status(pod *corev1.Pod, phase corev1.PodPhase, container corev1.ContainerStatus) corev1.PodStatus {
	now := metav1.Now()
	ready := corev1.ConditionFalse
	if container.Ready {
		ready = corev1.ConditionTrue
	}
	next := *pod.Status.DeepCopy()
	next.Phase, next.PodIP, next.PodIPs = phase, "10.1.2.3", []corev1.PodIP{{IP: "10.1.2.3"}}
	if next.StartTime == nil {
		next.StartTime = &now
	}
	container.Name, container.Image = pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image
	container.ImageID, container.ContainerID = "example.com/app@sha256:1", "containerd://1"
	next.ContainerStatuses = []corev1.ContainerStatus{container}
	next.Conditions = nil
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		next.Conditions = append(next.Conditions, corev1.PodCondition{Type: kind, Status: ready, LastTransitionTime: now})
	}
	return next
}

// summary is the part of a pod's status that differs from one status to the next.
func summary(pod *corev1.Pod) string {
	text := string(pod.Status.Phase)
	for i := range pod.Status.ContainerStatuses {
		text += fmt.Sprintf(", started anew %d times", pod.Status.ContainerStatuses[i].RestartCount)
	}
	return text
}
