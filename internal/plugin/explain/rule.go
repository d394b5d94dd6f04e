package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// rule says where pods of the namespace may run.
func (s Seen) rule() string {
	namespace := "namespace " + s.Pod.Namespace
	switch {
	case s.Hidden:
		return "you may not read the NamespaceOffloading of " + namespace
	case s.Offloading == nil && unscheduledpod.Strands(s.Pod, s.Bindings):
		return fmt.Sprintf("%s is not offloaded, but the pod can run only on virtual nodes, and its affinity is immutable: delete and recreate it, or kubectl spillway offload %s%s",
			namespace, s.Pod.Namespace, status.UnlessMounted(s.HiddenBindings))
	case s.Offloading == nil && s.Pod.Spec.NodeName == "" && unscheduledpod.OnlyVirtual(s.Pod):
		return namespace + " is not offloaded: the pod waits for the virtual node of a binding that has a mountNamespace"
	case s.Offloading == nil && s.virtual():
		return namespace + " is not offloaded"
	case s.Offloading == nil:
		return fmt.Sprintf("%s is not offloaded, so its pods run in this cluster; to change that: kubectl spillway offload %s", namespace, s.Pod.Namespace)
	case !s.Offloading.DeletionTimestamp.IsZero():
		return namespace + " is leaving the providers: its NamespaceOffloading is being deleted"
	}
	return "the NamespaceOffloading of " + namespace + " says " + string(s.strategy()) + ": " + s.places()
}

// places says where new pods run.
func (s Seen) places() string {
	switch strategy := s.strategy(); {
	case s.ordered():
		return "new pods use the tiers of spec.overflow in order"
	case strategy == v1alpha1.PodsRemote:
		return "new pods run only in a provider"
	case strategy == v1alpha1.PodsLocalFirst:
		return "new pods run here, or in a provider if there is no room"
	case strategy == v1alpha1.PodsLocalAndRemote:
		return "the scheduler picks this cluster or a provider"
	default:
		return "pods run here"
	}
}

// ordered reports whether the offloading has tiers.
func (s Seen) ordered() bool { return s.Offloading != nil && len(s.Offloading.Spec.Overflow) > 0 }

func (s Seen) strategy() v1alpha1.PodOffloadingStrategy {
	if s.Offloading == nil {
		return v1alpha1.PodsLocal
	}
	return s.Offloading.Spec.PodOffloadingStrategy
}

// excluded says why a pod of an offloaded namespace may not go to a virtual node, or "".
func (s Seen) excluded() string {
	if s.Offloading == nil || s.strategy() == v1alpha1.PodsLocal {
		return ""
	}
	if eviction.IsDaemonSetPod(s.Pod) {
		switch {
		case s.Pod.Annotations[v1alpha1.AnnotationOffloadDaemonSet] != v1alpha1.OffloadTrue:
			return fmt.Sprintf("it is a DaemonSet pod, which runs on ordinary nodes only, unless it has the annotation %s=%s", v1alpha1.AnnotationOffloadDaemonSet, v1alpha1.OffloadTrue)
		case !tolerates(s.Pod):
			return "it is a DaemonSet pod, and does not tolerate the taint " + v1alpha1.TaintVirtualNode + ": its DaemonSet must add the toleration"
		}
	}
	if !tolerates(s.Pod) {
		text := "it does not tolerate the taint " + v1alpha1.TaintVirtualNode + ": "
		if s.Pod.CreationTimestamp.Before(&s.Offloading.CreationTimestamp) {
			return text + "it was created before the namespace was offloaded; new pods tolerate it"
		}
		if s.strategy() != v1alpha1.PodsRemote && len(needs.Claims(s.Pod)) > 0 {
			return text + "it uses PersistentVolumeClaims, and gets the toleration once each is bound to a volume that can be sent, or has a mapped StorageClass, and this cluster has no room"
		}
		if s.ordered() {
			return ""
		}
		return text + "the policy spillway-pods did not change it: either the pod cannot run in a provider, or the API server does not serve the policy; see kubectl spillway doctor"
	}
	return ""
}

func tolerates(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == v1alpha1.TaintVirtualNode || t.Key == "" && t.Operator == corev1.TolerationOpExists) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
}
