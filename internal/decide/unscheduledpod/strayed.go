package unscheduledpod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// ReasonOnLocalNode: the pod is on a local node although its namespace has podOffloadingStrategy Remote,
// because admission did not change the pod.
const ReasonOnLocalNode = "OnLocalNode"

// LocalNodeWarning returns a message for the owner of a pod that is on a local node, or about to be, although its
// namespace has podOffloadingStrategy Remote; otherwise "". It reports a pod that lacks the toleration added
// at admission. A pod with that toleration was created under another strategy, or brought the toleration
// itself. A pod that is older than the offloading is not reported either.
func LocalNodeWarning(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) string {
	if nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote || !pod.DeletionTimestamp.IsZero() ||
		pod.CreationTimestamp.Before(&nso.CreationTimestamp) || pod.Annotations[corev1.MirrorPodAnnotationKey] != "" ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return ""
	}
	unbound := *pod
	unbound.Spec.NodeName = ""
	if len(admission.Decide(&unbound, nso).Tolerations()) == 0 {
		return ""
	}
	return "podOffloadingStrategy is Remote, but the pod is on the local node " + pod.Spec.NodeName +
		": " + v1alpha1.PodAdmissionName + " did not change it at admission; delete it, and its controller recreates it. " +
		"If that does not help, the manager's webhook does not answer the API server: kubectl spillway doctor"
}
