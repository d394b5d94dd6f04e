// Package drain decides, without any I/O, the next step of the ordered deletion
// of a ClusterBinding:
//
//	cordon → pods gone → copies gone → remote namespaces gone → NamespaceMap → objects released → Node and its Lease →
//	Lease in the provider → finalizer
//
// Each step is read off what is there, not remembered: a manager that starts
// in the middle goes on where the last one stopped.
//
// With the policy Orphan, and for a provider that was never usable, the steps in
// the provider are left out. For one that cannot be reached they are waited for
// until deletionTimeout has passed, and left out then. So are remote namespaces that
// a provider has been asked to delete, and does not get rid of though it answers. The
// pods are waited for as long as it answers: a budget of the consumer may hold them.
//
// The Lease in the provider is different: it is tried to be deleted whatever the policy,
// and that the trying has ended is enough. To whom it is left is told.
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
)

// Snapshot is what Decide looks at.
type Snapshot struct {
	Binding *v1alpha1.ClusterBinding
	// Duplicate is set for a ClusterBinding that does not hold its clusterID:
	// the node and the remote namespaces are those of another one.
	Duplicate bool
	// NodeExists and NodeCordoned tell of the virtual node, if it is ours.
	NodeExists, NodeCordoned bool
	// Pods are those that have to leave the virtual node.
	Pods eviction.Left
	// Copies are the objects of the consumer that have a copy in the provider
	// which nothing needs any more, by name. What pods of DaemonSets need, which
	// go with the node, is not among them.
	Copies []string
	// NamespaceMap is the one of the binding, or nil.
	NamespaceMap *v1alpha1.NamespaceMap
	// Marked counts the objects of the consumer that carry the binding's mark.
	// It matters, and is known, once nothing is left in the provider.
	Marked int
	// Connected reports whether the provider answers; Unreachable why not.
	Connected   bool
	Unreachable string
	// Limited says which rights to read are missing in one that answers.
	Limited string
	// LeaseGone tells that the Lease in the provider is, and LeaseStays why it is not
	// tried any more to delete it. They matter once the binding Leaves.
	LeaseGone  bool
	LeaseStays string
	Now        time.Time
}

// Action is what to do next; each is safe to repeat.
type Action string

// The actions, in their order.
const (
	// Wait for somebody else: other controllers, or the provider.
	Wait Action = "Wait"
	// Cordon the virtual node.
	Cordon Action = "Cordon"
	// DeleteNamespaceMap deletes it.
	DeleteNamespaceMap Action = "DeleteNamespaceMap"
	// Release ends the connection, then takes the mark off the objects that
	// carry it, without asking the provider.
	Release Action = "Release"
	// DeleteNode ends the connection, then deletes the node and its lease.
	DeleteNode Action = "DeleteNode"
	// RemoveFinalizer lets the ClusterBinding go.
	RemoveFinalizer Action = "RemoveFinalizer"
)

// Plan is the next step.
type Plan struct {
	Action Action
	// Drained is the condition that names the step.
	Drained metav1.Condition
	// RetryAfter is when a time-out changes the decision; zero: never.
	RetryAfter time.Duration
	// LeftBehind says what is given up with this step, if anything.
	LeftBehind string
}

// Decide names the next step.
func Decide(s Snapshot) Plan {
	switch {
	case s.Duplicate:
		return step(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was made for it")
	case s.Binding.Spec.Paused:
		return step(Wait, v1alpha1.ReasonPaused, "spec.paused is set: the deletion goes on when it is not")
	case s.NodeExists && !s.NodeCordoned:
		return step(Cordon, v1alpha1.ReasonCordoning, "the virtual node is made unschedulable")
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
		return step(Release, v1alpha1.ReasonReleasingObjects,
			"label, annotation and finalizer of the binding are taken off "+counted(s.Marked, "object"))
	case s.NodeExists:
		return s.deleteNode()
	default:
		return s.deleteLease()
	}
}

// Empties reports whether the ordered deletion of the binding has come to the
// remote namespaces.
func Empties(binding *v1alpha1.ClusterBinding) bool {
	return conditions.Reason(binding.Status.Conditions, v1alpha1.BindingDrained) == v1alpha1.ReasonDeletingNamespaces
}

// MayHoldLease reports whether there may be a Lease of the binding in the provider.
func MayHoldLease(binding *v1alpha1.ClusterBinding) bool {
	return binding.Status.RemoteClusterUID != "" && binding.Status.Holder.Generation != 0
}

// Leaves reports whether the ordered deletion of the binding has come to the Lease in
// the provider.
func Leaves(binding *v1alpha1.ClusterBinding) bool {
	return !binding.DeletionTimestamp.IsZero() && slices.Contains(binding.Finalizers, v1alpha1.FinalizerBinding) &&
		conditions.Reason(binding.Status.Conditions, v1alpha1.BindingDrained) == v1alpha1.ReasonDeletingLease
}

func (s Snapshot) deleteMap() Plan {
	plan := step(DeleteNamespaceMap, v1alpha1.ReasonDeletingNamespaceMap, "the NamespaceMap is deleted")
	if left := s.remoteNamespaces(); len(left) > 0 && !s.unused() && !s.emptied(left) {
		plan.LeftBehind = "remote namespaces that stay in provider " + s.Binding.Spec.ClusterID + ": " + strings.Join(left, ", ")
	}
	return plan
}

func (s Snapshot) deleteNode() Plan {
	plan := step(DeleteNode, v1alpha1.ReasonDeletingNode, "the virtual node and its lease are deleted")
	if s.Pods.Count > 0 && !s.unused() {
		plan.LeftBehind = fmt.Sprintf("%s that may run on in provider %s; Kubernetes removes them here, because their node is gone", s.Pods, s.Binding.Spec.ClusterID)
	}
	return plan
}

// deleteLease waits for the Lease in the provider to be deleted, or not to be. Nobody is
// asked to bring a provider back only for that.
func (s Snapshot) deleteLease() Plan {
	plan := step(RemoveFinalizer, v1alpha1.ReasonDrained, "nothing is left")
	leaves := Leaves(s.Binding)
	switch {
	case !MayHoldLease(s.Binding) || leaves && s.LeaseGone:
		return plan
	case leaves && s.LeaseStays != "":
		plan.LeftBehind = fmt.Sprintf("the Lease that stays in provider %s, so that a binding that is made again asks for a take-over: %s", s.Binding.Spec.ClusterID, s.LeaseStays)
		return plan
	default:
		return step(Wait, v1alpha1.ReasonDeletingLease, "the Lease in the provider is deleted; if its holder was killed, after it has expired")
	}
}

func step(action Action, reason, message string) Plan {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonDrained {
		status = metav1.ConditionTrue
	}
	return Plan{Action: action, Drained: conditions.New(v1alpha1.BindingDrained, status, reason, message)}
}
