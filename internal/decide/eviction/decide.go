// Package eviction decides, without any I/O, which pods must leave a virtual node, and summarises those that
// are still there.
//
// Pods of DaemonSets are neither evicted nor waited for. They tolerate the cordon, so their controller would
// recreate them on the same node at once, without end. They are deleted with the node.
package eviction

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/field"
)

// Cause is why a pod must leave.
type Cause string

const (
	// Stays: the pod need not leave.
	Stays Cause = ""
	// BindingDeleted: the ClusterBinding of the virtual node is being drained.
	BindingDeleted Cause = "BindingDeleted"
	// OffloadingDeleted: the pod's namespace is no longer offloaded.
	OffloadingDeleted Cause = "OffloadingDeleted"
	// GroupEmpty: the provider has had no node of the virtual node's group for a while.
	GroupEmpty Cause = "GroupEmpty"
	// NotSelected: the pod's namespace is no longer offloaded to this provider.
	NotSelected Cause = "NotSelected"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	// Pod is on the virtual node of the Binding.
	Pod     *corev1.Pod
	Binding *v1alpha1.ClusterBinding
	// Cordoned reports that the virtual node gets no new pods, because it is unschedulable or deleted.
	Cordoned bool
	// GroupEmpty reports that the virtual node is cordoned, and the provider has no node of its group: see GroupGone.
	GroupEmpty bool
	// NamespaceTerminating reports that the pod's namespace is being deleted.
	NamespaceTerminating bool
	// Offloading is the NamespaceOffloading of the pod's namespace, or nil.
	Offloading *v1alpha1.NamespaceOffloading
	// NamespaceMap is the Binding's NamespaceMap, or nil.
	NamespaceMap *v1alpha1.NamespaceMap
}

// Decide returns why the pod must be evicted now, or Stays.
func Decide(s Snapshot) Cause {
	switch {
	case !MayBeEvicted(s.Pod):
		return Stays
	case s.NamespaceTerminating:
		// Kubernetes deletes the pods of the namespace, and refuses to create anything in it, even evictions.
		return Stays
	case s.Binding.Spec.Paused:
		return Stays // A paused binding keeps its pods.
	case !s.Binding.DeletionTimestamp.IsZero():
		// Before the node is cordoned, the scheduler would send other pods.
		if s.Cordoned && s.Binding.Spec.Drains() {
			return BindingDeleted
		}
		return Stays
	case s.GroupEmpty && !terminal(s.Pod) && !field.IsReady(s.Pod):
		return GroupEmpty // A pod that is Ready runs on a node whose label has changed.
	case s.Offloading == nil || terminal(s.Pod):
		return Stays
	case !s.Offloading.DeletionTimestamp.IsZero():
		return OffloadingDeleted
	case Unselected(s.Offloading, s.Binding, s.NamespaceMap):
		return NotSelected
	default:
		return Stays
	}
}

// GroupGone reports whether a virtual node is cordoned, and the provider has had no node of its group for a while, whoever has
// cordoned it.
func GroupGone(node *corev1.Node) bool {
	return node.Spec.Unschedulable && (node.Annotations[v1alpha1.AnnotationCordoned] == v1alpha1.CordonedEmpty || node.Annotations[v1alpha1.AnnotationGroupGone] != "")
}

// MayBeEvicted reports whether there is any reason for which Decide would evict the pod.
func MayBeEvicted(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && !IsDaemonSetPod(pod)
}

// Unselected reports whether the offloading has a remote namespace in a provider that it no longer selects. A
// pod of a namespace that never had one is in the mount namespace, and may stay there. The NamespaceMap may
// be nil.
func Unselected(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) bool {
	if selected, err := placement.Selects(nso.Spec.Selector(), binding); selected && err == nil {
		return false
	}
	return nsm != nil && namespacemap.FindDesired(nsm.Spec.DesiredMapping, nso.Namespace) != nil
}

// BlocksDeletion reports whether the remote namespace must stay because of the pod. A pod that has ended does not
// count, nor does a pod of a DaemonSet.
func BlocksDeletion(pod *corev1.Pod) bool { return !terminal(pod) && !IsDaemonSetPod(pod) }

// IsDaemonSetPod reports whether a DaemonSet created the pod.
func IsDaemonSetPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// StaysOffloaded reports whether the pod stays in the provider, with everything that it needs there, as long
// as the provider is bound.
func StaysOffloaded(pod *corev1.Pod) bool {
	return IsDaemonSetPod(pod) && !terminal(pod) && pod.Annotations[v1alpha1.AnnotationOffloadDaemonSet] == v1alpha1.OffloadTrue
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
