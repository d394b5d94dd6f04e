package manager

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

func trimForeignNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil
	}
	node.ManagedFields = nil
	owner := metav1.GetControllerOf(node) // Its label may have been taken off.
	if node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual || (owner != nil && owner.Kind == "ClusterBinding") {
		return node, nil
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
		CreationTimestamp: node.CreationTimestamp, OwnerReferences: node.OwnerReferences,
	}, Spec: corev1.NodeSpec{PodCIDRs: node.Spec.PodCIDRs}}, nil
}

// trimWaitingPod leaves of a pod that waits for a node what internal/decide/unscheduledpod
// looks at, and what it takes to patch the tolerations. Most such pods are of
// namespaces that are not offloaded, and there may be thousands of them. Few are
// such that they can never be sent; of those all is looked at. A DaemonSet's pods
// are left alone whatever else they are.
func trimWaitingPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	if owner := metav1.GetControllerOf(pod); (owner == nil || owner.Kind != "DaemonSet") && translate.PodRefusal(pod) != nil {
		pod.ManagedFields = nil
		return &waitingPod{ObjectMeta: identityOf(pod), whole: pod}, nil
	}
	return &waitingPod{ObjectMeta: identityOf(pod), tolerations: pod.Spec.Tolerations, affinity: requiredNodes(pod)}, nil
}

// identityOf is who a pod is, and of what kind its controller.
func identityOf(pod *corev1.Pod) metav1.ObjectMeta {
	identity := metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		identity.OwnerReferences = []metav1.OwnerReference{{Kind: owner.Kind, Controller: owner.Controller}}
	}
	return identity
}

// requiredNodes is the node affinity that the scheduler insists on, if it says
// anything of virtual nodes: no other is looked at.
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
