package explain

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// was says what became of the remote pod of an ended pod, or "". The annotations with its name stay, and only
// the provider knows whether it still exists.
func (s Seen) was(provider string) string {
	now, there := &s.Pod.Status, s.Pod.Annotations[v1alpha1.AnnotationRemoteNamespace]
	switch {
	case now.Phase != corev1.PodSucceeded && now.Phase != corev1.PodFailed:
		return ""
	case now.Reason == v1alpha1.ReasonRemotePodLost || now.Reason == v1alpha1.ReasonPodDeleted:
		return ", which is gone"
	case s.Hidden, s.Binding == nil, s.mapped(provider), s.Binding.Spec.MountNamespace == there:
		return "; it is unknown whether it still exists"
	}
	return ", until the namespace was no longer offloaded to " + provider
}

// mapped reports whether the namespace has a remote namespace in a provider.
func (s Seen) mapped(provider string) bool {
	return s.Offloading != nil && status.StateOf(s.Offloading).In(provider) != nil
}

// ofBinding returns what is wrong with the provider. While the binding is being deleted, the condition
// Drained has more than Ready: the step, and which evictions are refused.
func (s Seen) ofBinding() []status.Wait {
	if s.Binding == nil {
		return nil
	}
	all := s.Binding.Status.Conditions
	c := meta.FindStatusCondition(all, v1alpha1.BindingReady)
	if c != nil && c.Reason == v1alpha1.ReasonDeleting {
		c = cmp.Or(meta.FindStatusCondition(all, v1alpha1.BindingDrained), c)
	}
	if c == nil || c.Status == metav1.ConditionTrue {
		return nil
	}
	return []status.Wait{status.NewWait("ClusterBinding "+s.Binding.Name, c.Reason, c.Message)}
}

// lastKnown says since when nothing new is known about the pod, or "" if the manager is connected to the provider.
func (s Seen) lastKnown(provider string) string {
	if s.Binding == nil {
		return ""
	}
	at := status.LastKnown(s.Binding)
	if at.IsZero() {
		return ""
	}
	return "the manager is not connected to provider " + provider + ": its pods are as last known at " + at.UTC().Format(time.RFC3339)
}

// around returns what is wrong with the provider, the offloading and the remote namespace.
func (s Seen) around() []status.Wait {
	waits := s.ofBinding()
	waitsForNode := s.Pod.Spec.NodeName == ""
	if s.Offloading == nil || waitsForNode && s.strategy() == v1alpha1.PodsLocal {
		return waits
	}
	state := status.StateOf(s.Offloading)
	if waitsForNode || !s.Offloading.DeletionTimestamp.IsZero() {
		for _, wait := range state.Waits {
			if wait.Type == v1alpha1.OffloadingReturns {
				continue // It is about pods that run.
			}
			waits = append(waits, status.Wait{Type: "NamespaceOffloading", Reason: wait.Reason, Message: wait.Message})
		}
	}
	for _, remote := range state.Remotes {
		if remote.Wait != nil && (waitsForNode || v1alpha1.ClusterIDOf(s.Pod.Spec.NodeName) == remote.Cluster) {
			waits = append(waits, status.Wait{Type: "namespace " + remote.Namespace + " in " + remote.Cluster, Reason: remote.Wait.Reason, Message: remote.Wait.Message})
		}
	}
	return waits
}

// returns says whether the pod returns to an earlier tier, or "" if it is in no later one as far as is known.
func (s Seen) returns() string {
	if s.Offloading == nil || s.Offloading.Spec.Return == nil || s.Pod.Annotations[v1alpha1.AnnotationOverflow] == "" {
		return ""
	}
	c := meta.FindStatusCondition(s.Offloading.Status.Conditions, v1alpha1.OffloadingReturns)
	if c == nil || c.Reason == v1alpha1.ReasonAllInPlace {
		return ""
	}
	return "pods in later tiers return (spec.return): " + status.NewWait("", c.Reason, c.Message).String()
}
