package virtualnode

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// frozen reports whether the node stays as it is, because its binding is paused or being deleted. It still
// reports that the provider answers. If a node's Lease was not renewed for a while, Kubernetes sets its
// conditions to Unknown, and does not set them back. If nobody did, Kubernetes would evict the node's running
// pods.
func frozen(binding *v1alpha1.ClusterBinding) bool {
	return binding.Spec.Paused || !binding.DeletionTimestamp.IsZero()
}

// beat reports that the provider of a frozen node answers, if the node does not say so. The reason stays the
// same.
func beat(node *corev1.Node, offer Offer, now metav1.Time) {
	said := map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for _, c := range node.Status.Conditions {
		said[c.Type] = c.Status
	}
	for _, wanted := range healthy(offer) {
		if said[wanted.Type] != wanted.Status {
			setCondition(&node.Status.Conditions, wanted, now)
		}
	}
}

// healthy returns the conditions of a node whose provider answers. Ready comes first. Kubernetes sets the
// others to Unknown together with it.
func healthy(offer Offer) []corev1.NodeCondition {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "ProviderConnected", Message: "the provider answers"}
	if none := offer.noneUsable(); none != "" && !offer.Unknown {
		ready.Reason, ready.Message = v1alpha1.ReasonNoUsableNodes, none
	}
	conditions := []corev1.NodeCondition{ready}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		conditions = append(conditions, corev1.NodeCondition{
			Type: pressure, Status: corev1.ConditionFalse, Reason: "VirtualNode", Message: "the provider manages its own nodes",
		})
	}
	return conditions
}

// setCondition changes a condition and its times only if it differs, because the Lease is the node's
// heartbeat.
func setCondition(conditions *[]corev1.NodeCondition, wanted corev1.NodeCondition, now metav1.Time) {
	wanted.LastHeartbeatTime, wanted.LastTransitionTime = now, now
	for i, c := range *conditions {
		if c.Type != wanted.Type {
			continue
		}
		if c.Status == wanted.Status && c.Reason == wanted.Reason && c.Message == wanted.Message {
			return
		}
		if c.Status == wanted.Status {
			wanted.LastTransitionTime = c.LastTransitionTime
		}
		(*conditions)[i] = wanted
		return
	}
	*conditions = append(*conditions, wanted)
}
