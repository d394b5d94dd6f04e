// Package stuckpod decides, without any I/O, what happens to a pod on a virtual node that its provider refuses, or
// that the provider's scheduler cannot place: in a namespace with spec.overflow it is deleted, so that its controller
// creates another one, which goes elsewhere. The provider is left out for such pods for a while.
package stuckpod

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/retry"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	// Pod is on the virtual node of the provider ClusterID.
	Pod       *corev1.Pod
	ClusterID string
	// Offloading is of the pod's namespace, or nil.
	Offloading *v1alpha1.NamespaceOffloading
	// Others are the pods of the namespace on the same virtual node.
	Others []corev1.Pod
	Now    time.Time
}

// Plan is what to do.
type Plan struct {
	// Status is the status to write, or nil. The rest waits until the cache shows it.
	Status *v1alpha1.NamespaceOffloadingStatus
	// Reason and Message are of an event about the pod; empty if there is nothing to report.
	Reason, Message string
	// Delete reports that the pod is deleted then.
	Delete bool
	// RecheckAfter is how long until the next decision if nothing changes before; 0: never.
	RecheckAfter time.Duration
}

// Decide decides about one pod.
func Decide(s Snapshot) Plan {
	stuck := pod.StuckOf(s.Pod)
	if stuck == nil || !replaces(s.Offloading) || !slices.Contains(namespaceoffloading.InTiers(&s.Offloading.Status), s.ClusterID) {
		return Plan{}
	}
	full, size, after := spill.Read(s.Offloading), spill.SizeOf(s.Pod), After(s.Offloading)
	may, opens := elsewhere(s, full, size)
	owner, why := keeps(s.Pod)
	state := spill.Stuck{Since: stuck.Since, Recreated: owner != "", Claims: len(needs.Claims(s.Pod)) > 0, Elsewhere: may}
	if wait := state.Due(after, s.Now); wait > 0 {
		return Plan{RecheckAfter: wait}
	}
	var plan Plan
	plan.Delete, _ = spill.GivesUp(state, after, s.Now)
	news := state.IsNews(after, s.Now)
	if plan.Delete || news {
		if open, _ := full.Open(s.ClusterID, s.Pod.Namespace, size, s.Now); open {
			ran(s, full)
		}
		full.Refused(s.ClusterID, s.Pod.Namespace, size, spill.Why{Reason: stuck.Reason, Message: stuck.Message}, s.Now)
		plan.Status = changed(s, full)
	}
	since := stuck.Since.UTC().Format(time.RFC3339)
	switch {
	case plan.Delete:
		_, closed := full.Open(s.ClusterID, s.Pod.Namespace, size, s.Now)
		plan.Reason = v1alpha1.ReasonGivenUp
		plan.Message = fmt.Sprintf("the pod has not started in provider %s since %s, so it is deleted, and %s creates another one, which does not go to %s until %s: %s",
			s.ClusterID, since, owner, s.ClusterID, s.Now.Add(closed).UTC().Format(time.RFC3339), stuck.Message)
		return plan
	case news:
		plan.Reason = v1alpha1.ReasonNotReplaced
		plan.Message = fmt.Sprintf("the pod has not started in provider %s since %s, but it is not replaced: %s", s.ClusterID, since, cmp.Or(why, nowhere))
	}
	if why == "" { // It is looked at again when another place may take it.
		plan.RecheckAfter = opens
	}
	return plan
}

const nowhere = "no other provider of spec.overflow may take it now"

// After returns how long a provider must have refused a pod.
func After(nso *v1alpha1.NamespaceOffloading) time.Duration {
	if u := nso.Spec.Unschedulable; u != nil && u.After != nil {
		return u.After.Duration
	}
	return spill.DefaultUnschedulableAfter
}

// replaces reports whether pods of the namespace are replaced at all. A status about an earlier spec may list providers
// that are in no tier any more.
func replaces(nso *v1alpha1.NamespaceOffloading) bool {
	return nso != nil && nso.DeletionTimestamp.IsZero() && len(nso.Spec.Overflow) > 0 && nso.Status.ObservedGeneration == nso.Generation &&
		(nso.Spec.Unschedulable == nil || nso.Spec.Unschedulable.Action != v1alpha1.UnschedulableWait)
}

// keeps returns the controller that replaces the pod or, if the pod stays in any case, why.
func keeps(stuck *corev1.Pod) (owner, why string) {
	controller := metav1.GetControllerOfNoCopy(stuck)
	switch {
	case controller == nil:
		return "", "it has no controller that would create another one"
	case !slices.Contains([]string{"apps/v1 ReplicaSet", "v1 ReplicationController"}, controller.APIVersion+" "+controller.Kind):
		return "", "its controller is a " + controller.Kind + ", and only those of a ReplicaSet or a ReplicationController are"
	case len(needs.Claims(stuck)) > 0:
		return controller.Kind + " " + controller.Name, "it uses PersistentVolumeClaims, which may be tied to the provider"
	}
	return controller.Kind + " " + controller.Name, ""
}

// elsewhere reports whether another place may take the pod. If not, opens is how long until one may; 0: unknown.
func elsewhere(s Snapshot, full *spill.Full, size spill.Size) (may bool, opens time.Duration) {
	if s.Offloading.Spec.Overflow[0].Local {
		return true, 0
	}
	for _, id := range namespaceoffloading.InTiers(&s.Offloading.Status) {
		if id == s.ClusterID {
			continue
		}
		open, wait := full.Open(id, s.Pod.Namespace, size, s.Now)
		if open {
			return true, 0
		}
		opens = retry.Sooner(opens, wait)
	}
	return false, opens
}

// ran notes which pods the provider has run since it refused others.
func ran(s Snapshot, full *spill.Full) {
	for i := range s.Others {
		if other := &s.Others[i]; other.Status.Phase == corev1.PodRunning {
			full.Ran(s.ClusterID, s.Pod.Namespace, spill.SizeOf(other), other.CreationTimestamp.Time)
		}
	}
}

// changed returns the status with what is known about full providers, or nil if it is the same.
func changed(s Snapshot, full *spill.Full) *v1alpha1.NamespaceOffloadingStatus {
	status := s.Offloading.Status.DeepCopy()
	namespaceoffloading.SetFull(status, s.Offloading, full, s.Now)
	if equality.Semantic.DeepEqual(status, &s.Offloading.Status) {
		return nil
	}
	return status
}

// Says says what will happen to a pod that its provider refuses or cannot place; empty for other pods.
func Says(stuck *corev1.Pod, nso *v1alpha1.NamespaceOffloading, clusterID string) string {
	found := pod.StuckOf(stuck)
	if found == nil || nso == nil {
		return ""
	}
	owner, why := keeps(stuck)
	switch {
	case len(nso.Spec.Overflow) == 0:
		return "it stays in provider " + clusterID + " until that can run it: only namespaces with spec.overflow replace such pods"
	case !replaces(nso):
		return "it stays in provider " + clusterID + " until that can run it: spec.unschedulable of the NamespaceOffloading says Wait, or its status is not about the present spec"
	case why != "":
		return "it stays in provider " + clusterID + " until that can run it: " + why
	}
	return fmt.Sprintf("if it has not started in provider %s at %s, and another place may take it, it is deleted, and %s creates another one",
		clusterID, found.Since.Add(After(nso)).UTC().Format(time.RFC3339), owner)
}
