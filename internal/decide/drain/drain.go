// Package drain decides, without any I/O, the next step of the ordered deletion of a ClusterBinding:
//
//	cordon → pods gone → copies gone → remote namespaces gone →
//	NamespaceMap → objects released → Node and its Lease → Lease in the provider → finalizer
//
// Each step follows from the objects that exist, not from memory. A manager that starts halfway continues
// where the last one stopped.
//
// With the policy Orphan, and for a provider that was never usable, the steps in the provider are skipped. If
// the provider cannot be reached, they wait until deletionTimeout has passed, and are then skipped, unless the provider
// may have volumes. The same holds for remote namespaces that an answering provider was asked to delete and does not delete. While the
// provider answers, the deletion waits for pods without a limit, because a budget of the consumer may hold
// them.
//
// The Lease in the provider is different. The manager tries to delete it with every policy. The step ends
// when the tries have ended. An event says if the Lease stays.
package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Binding *v1alpha1.ClusterBinding
	// Duplicate is set for a ClusterBinding that does not hold its clusterID. The node and the remote
	// namespaces belong to another ClusterBinding.
	Duplicate bool
	// NodeExists and NodeCordoned describe the virtual node, if it belongs to this binding.
	NodeExists, NodeCordoned bool
	// Pods are the pods that must leave the virtual node.
	Pods eviction.Remaining
	// Copies are the names of the consumer's objects with a copy in the provider that nothing needs any more,
	// once this step has begun (ReachedCopies). Objects that DaemonSet pods need are not included, because those
	// pods are deleted with the node.
	Copies []string
	// NamespaceMap is the binding's NamespaceMap, or nil.
	NamespaceMap *v1alpha1.NamespaceMap
	// Volumes are the names of the consumer's PersistentVolumes that stand for volumes in the provider.
	Volumes []string
	// Marked counts the consumer's objects with the binding's mark. It is known, and used, once nothing is
	// left in the provider.
	Marked int
	// Connected reports whether the provider answers; Unreachable says why not.
	Connected   bool
	Unreachable string
	// Limited is what a connected provider does not let the manager read.
	Limited connection.Unreadable
	// LeaseDeleted reports that the Lease in the provider is deleted. LeaseGivenUp says why the manager no longer
	// tries to delete it. Both are used once ReachedLease is true for the binding.
	LeaseDeleted bool
	LeaseGivenUp string
	Now          time.Time
}

// Action is the next action. Each is safe to repeat.
type Action string

// The actions, in their order.
const (
	// Wait waits for other controllers or for the provider.
	Wait Action = "Wait"
	// Cordon cordons the virtual node.
	Cordon Action = "Cordon"
	// DeleteNamespaceMap deletes the NamespaceMap.
	DeleteNamespaceMap Action = "DeleteNamespaceMap"
	// Release ends the connection. Then it removes the mark from the consumer's objects, without a request to
	// the provider.
	Release Action = "Release"
	// DeleteNode ends the connection, then deletes the virtual node and its Lease.
	DeleteNode Action = "DeleteNode"
	// RemoveFinalizer removes the finalizer of the ClusterBinding.
	RemoveFinalizer Action = "RemoveFinalizer"
)

// Plan is the next step.
type Plan struct {
	Action Action
	// Drained is the condition that names the step.
	Drained metav1.Condition
	// RetryAfter is how long until a timeout changes the decision; zero: never.
	RetryAfter time.Duration
	// LeftBehind names what this step leaves in the provider, if anything.
	LeftBehind string
}

// Decide returns the next step.
func Decide(s Snapshot) Plan {
	switch {
	case s.Duplicate:
		return step(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was created for it")
	case s.Binding.Spec.Paused:
		return step(Wait, v1alpha1.ReasonPaused, "spec.paused is set: unset it to continue the deletion")
	case !s.skipped() && !s.Binding.Spec.Drains():
		return step(Wait, v1alpha1.ReasonPolicyUnknown, fmt.Sprintf("this manager does not know deletionPolicy %s: to continue the deletion, set it to Drain or Orphan, or install a manager that knows it",
			s.Binding.Spec.DeletionPolicy))
	case s.NodeExists && !s.NodeCordoned:
		return step(Cordon, v1alpha1.ReasonCordoning, "cordoning the virtual node")
	}
	for _, remotely := range []func(Snapshot) *Plan{pods, copies, namespaces} {
		if plan := remotely(s); plan != nil {
			return *plan
		}
	}
	switch {
	case s.NamespaceMap != nil:
		return s.deleteMap()
	case s.Marked > 0:
		return s.release()
	case s.NodeExists:
		return s.deleteNode()
	default:
		return s.deleteLease()
	}
}

// ReachedNamespaces reports whether the ordered deletion of the binding has reached the remote
// namespaces.
func ReachedNamespaces(binding *v1alpha1.ClusterBinding) bool {
	reason := conditions.Reason(binding.Status.Conditions, v1alpha1.BindingDrained)
	return reason == v1alpha1.ReasonDeletingNamespaces || reason == v1alpha1.ReasonVolumesRemain
}

// ReachedCopies reports whether the ordered deletion of the binding has reached the copies. From then on nothing
// is decided about objects that are sent because of their namespace. No pod uses their copies any more, and
// the copies are deleted with the remote namespace.
func ReachedCopies(binding *v1alpha1.ClusterBinding) bool {
	reason := conditions.Reason(binding.Status.Conditions, v1alpha1.BindingDrained)
	return !binding.DeletionTimestamp.IsZero() && (reason == v1alpha1.ReasonDeletingCopies || ReachedNamespaces(binding))
}

// MayHoldLease reports whether the provider may have a Lease of the binding.
func MayHoldLease(binding *v1alpha1.ClusterBinding) bool {
	return binding.Status.RemoteClusterUID != "" && binding.Status.Holder.Generation != 0
}

// ReachedLease reports whether the ordered deletion of the binding has reached the Lease in
// the provider.
func ReachedLease(binding *v1alpha1.ClusterBinding) bool {
	return !binding.DeletionTimestamp.IsZero() && slices.Contains(binding.Finalizers, v1alpha1.FinalizerBinding) &&
		conditions.Reason(binding.Status.Conditions, v1alpha1.BindingDrained) == v1alpha1.ReasonDeletingLease
}

func (s Snapshot) deleteMap() Plan {
	plan := step(DeleteNamespaceMap, v1alpha1.ReasonDeletingNamespaceMap, "deleting the NamespaceMap")
	if left := s.remoteNamespaces(); len(left) > 0 && !s.unused() && !s.emptied(left) {
		plan.LeftBehind = "remote namespaces left in provider " + s.Binding.Spec.ClusterID + ": " + strings.Join(left, ", ")
	}
	return plan
}

// release says which volumes it leaves if somebody has deleted the NamespaceMap: then nobody has deleted the remote
// namespaces.
func (s Snapshot) release() Plan {
	plan := step(Release, v1alpha1.ReasonReleasingObjects, "removing the binding's label, annotation and finalizer from "+counted(s.Marked, "object"))
	switch reason := conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingDrained); {
	case reason == v1alpha1.ReasonPaused, reason == v1alpha1.ReasonCordoning: // It is not known who has deleted the NamespaceMap.
	case s.recorded():
		plan.LeftBehind = "volumes that may be left in provider " + s.Binding.Spec.ClusterID + ", with their remote namespaces, because the NamespaceMap was gone: those of PersistentVolumes " + text.Few(s.Volumes, most)
	}
	return plan
}

func (s Snapshot) deleteNode() Plan {
	plan := step(DeleteNode, v1alpha1.ReasonDeletingNode, "deleting the virtual node and its Lease")
	if s.Pods.Count > 0 && !s.unused() {
		plan.LeftBehind = fmt.Sprintf("%s that may still run in provider %s; the consumer deletes them, because their node is gone", s.Pods, s.Binding.Spec.ClusterID)
	}
	return plan
}

// deleteLease waits until the Lease in the provider is deleted, or the manager has given that up. The Lease
// alone is no reason to wait for a provider to come back.
func (s Snapshot) deleteLease() Plan {
	plan := step(RemoveFinalizer, v1alpha1.ReasonDrained, "nothing is left")
	leaves := ReachedLease(s.Binding)
	switch {
	case !MayHoldLease(s.Binding) || leaves && s.LeaseDeleted:
		return plan
	case leaves && s.LeaseGivenUp != "":
		plan.LeftBehind = fmt.Sprintf("the Lease stays in provider %s, so a recreated binding asks for a take-over. It could not be deleted: %s", s.Binding.Spec.ClusterID, s.LeaseGivenUp)
		return plan
	default:
		return step(Wait, v1alpha1.ReasonDeletingLease, "deleting the Lease in the provider; if its holder was killed, this waits until the Lease has expired")
	}
}

func step(action Action, reason, message string) Plan {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonDrained {
		status = metav1.ConditionTrue
	}
	return Plan{Action: action, Drained: conditions.New(v1alpha1.BindingDrained, status, reason, message)}
}
