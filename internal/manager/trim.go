package manager

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

func trimForeignNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node.ManagedFields = nil
	owner := metav1.GetControllerOf(node) // Somebody may have removed the label.
	if node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual || (owner != nil && owner.Kind == "ClusterBinding") {
		return node, nil
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
		CreationTimestamp: node.CreationTimestamp, OwnerReferences: node.OwnerReferences,
	}, Spec: corev1.NodeSpec{PodCIDRs: node.Spec.PodCIDRs}, Status: corev1.NodeStatus{Addresses: node.Status.Addresses}}, nil
}

// trimWaitingPod trims a pod that waits for a node. It keeps what internal/decide/unscheduledpod reads,
// and what a patch of the tolerations needs. Most such pods are in namespaces that are not offloaded,
// and there may be thousands.
//
// It keeps the few pods whole that can never be sent, or not to every provider. Pods of DaemonSets are
// always trimmed, because Spillway never changes them.
func trimWaitingPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	if owner := metav1.GetControllerOf(pod); (owner == nil || owner.Kind != "DaemonSet") && (accept.BaselineRefusal(pod) != nil || len(accept.DescribedVolumes(pod)) > 0) {
		pod.ManagedFields = nil
		return &waitingPod{ObjectMeta: identityOf(pod), fullPod: pod}, nil
	}
	if small := withClaims(pod); small != nil {
		return &waitingPod{ObjectMeta: identityOf(pod), fullPod: small}, nil
	}
	waiting := &waitingPod{ObjectMeta: identityOf(pod), tolerations: pod.Spec.Tolerations, affinity: requiredNodes(pod), nominated: pod.Status.NominatedNodeName, requests: requestsOf(pod)}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			waiting.unschedulable, waiting.seen = uint32(c.LastTransitionTime.Unix()), uint32(c.ObservedGeneration) //nolint:gosec // Times end in 2106, and no pod has so many generations.
		}
	}
	return waiting, nil
}

// withClaims trims a pod that names PersistentVolumeClaims. It also keeps their names, and whether the
// scheduler has found a node. The result takes a few KB, as a Pod. It is nil for a pod without claims.
func withClaims(pod *corev1.Pod) *corev1.Pod {
	names := needs.Claims(pod)
	if len(names) == 0 {
		return nil
	}
	small := &corev1.Pod{ObjectMeta: identityOf(pod), Spec: corev1.PodSpec{Tolerations: pod.Spec.Tolerations, Affinity: requiredNodes(pod), Containers: requesting(spill.SizeOf(pod))}}
	for _, name := range names {
		small.Spec.Volumes = append(small.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	small.Status.NominatedNodeName = pod.Status.NominatedNodeName
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			small.Status.Conditions = []corev1.PodCondition{{
				Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime, ObservedGeneration: c.ObservedGeneration,
			}}
		}
	}
	return small
}

// identityOf returns a pod's identity, and the kind of its controller.
func identityOf(pod *corev1.Pod) metav1.ObjectMeta {
	identity := metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, Generation: pod.Generation,
	}
	if opened := pod.Annotations[v1alpha1.AnnotationOverflow]; opened != "" {
		identity.Annotations = map[string]string{v1alpha1.AnnotationOverflow: opened}
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		identity.OwnerReferences = []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Controller: owner.Controller}}
	}
	return identity
}

// requiredNodes returns the required node affinity if it mentions virtual nodes. Nothing reads any
// other.
func requiredNodes(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil {
		return nil
	}
	for _, term := range required.NodeSelectorTerms {
		for _, r := range term.MatchExpressions {
			if r.Key == v1alpha1.LabelNodeType {
				return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
			}
		}
	}
	return nil
}
