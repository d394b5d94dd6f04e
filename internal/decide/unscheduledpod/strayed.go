package unscheduledpod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// ReasonOnLocalNode: the pod of a namespace with podOffloadingStrategy Remote is on one of
// the consumer's own nodes, because admission did not change it.
const ReasonOnLocalNode = "OnLocalNode"

// Strayed is what to tell the owner of a pod that is on one of the consumer's own nodes,
// or about to be, although its namespace has podOffloadingStrategy Remote; empty if
// nothing. A pod is told of that lacks the toleration which each pod gets that is made
// under an offloading: one that has it was made under another strategy, or has it of its
// own; nor is a pod that is older than the offloading.
func Strayed(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) string {
	if nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote || !pod.DeletionTimestamp.IsZero() ||
		pod.CreationTimestamp.Before(&nso.CreationTimestamp) || pod.Annotations[corev1.MirrorPodAnnotationKey] != "" ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ""
	}
	unbound := *pod
	unbound.Spec.NodeName = ""
	if admission.Decide(&unbound, nso).Toleration == nil {
		return ""
	}
	return "podOffloadingStrategy is Remote, and the pod is on the local node " + pod.Spec.NodeName +
		": " + v1alpha1.PodAdmissionName + " did not change it when it was made; delete it to have it made again. " +
		"If that does not help, the API server gets no answer from the manager's webhook: kubectl spillway doctor"
}
