// Package mountnamespace decides, without any I/O, about the mount namespace of a provider. Pods of
// namespaces without a remote namespace run there.
//
// It is like an entry of a NamespaceMap without a local namespace: it has the mark, but no annotation of a
// local namespace. The condition MountNamespaceReady reports on it, even before the namespace is created. If
// the condition is missing, or its reason says that there is no mount namespace, none can exist. Then the
// deletion of the ClusterBinding need not wait for a provider that was never usable.
package mountnamespace

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	// Binding has spec.mountNamespace set. If it is being deleted, the deletion has reached the remote
	// namespaces.
	Binding *v1alpha1.ClusterBinding
	Mark    provenance.Mark
	// Remote is the namespace of that name in the provider, or nil.
	Remote *corev1.Namespace
	// BackingOff has the outcome of the last try, by remote namespace, until the next try is due.
	BackingOff map[string]namespacemap.Outcome
	// ManagerNamespace is never a target.
	ManagerNamespace string
}

// Decide compares the actual with the desired state. Plan.Known has, for the local namespace "", the outcome
// to report once the plan's actions have succeeded.
func Decide(s Snapshot) namespacemap.Plan {
	name, clusterID := s.Binding.Spec.MountNamespace, s.Binding.Spec.ClusterID
	plan := namespacemap.Plan{Known: map[string]namespacemap.Known{}}
	know := func(phase v1alpha1.MappingPhase, reason, message string) namespacemap.Plan {
		plan.Known[""] = namespacemap.Known{RemoteNamespace: name, Outcome: namespacemap.Outcome{Phase: phase, Reason: reason, Message: message}}
		return plan
	}
	there := s.Remote != nil && IsMountNamespace(s.Mark, s.Remote)
	if err := namespacemap.CheckRemote(name, s.ManagerNamespace); err != nil {
		return know(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameReserved, err.Error())
	}
	waits, backsOff := s.BackingOff[name]
	switch deleted := !s.Binding.DeletionTimestamp.IsZero(); {
	case deleted && !there:
		return know(v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceDeleted, "the mount namespace is gone")
	case deleted:
		if s.Remote.DeletionTimestamp.IsZero() {
			plan.Deletes = []namespacemap.Delete{{RemoteNamespace: name, UID: s.Remote.UID}}
		}
		return know(v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired,
			namespacemap.WithBlocker("the mount namespace is being deleted, because the ClusterBinding is", namespacemap.DeletionBlocker(s.Remote)))
	case s.Remote == nil && backsOff:
		return know(waits.Phase, waits.Reason, waits.Message)
	case s.Remote == nil:
		plan.Creates = []namespacemap.Create{{RemoteNamespace: name}}
		return plan
	case !there:
		return know(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict,
			fmt.Sprintf("namespace %s exists in provider %s, and is left alone: %s", name, clusterID, provenance.Describe(s.Remote)))
	case !s.Remote.DeletionTimestamp.IsZero():
		return know(v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating,
			namespacemap.WithBlocker(fmt.Sprintf("namespace %s is being deleted in provider %s; Spillway recreates it when it is gone", name, clusterID), namespacemap.DeletionBlocker(s.Remote)))
	default:
		return know(v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "")
	}
}

// IsMountNamespace reports whether a namespace is the mount namespace of the binding with that mark. A namespace
// that represents a local one is not.
func IsMountNamespace(mark provenance.Mark, namespace *corev1.Namespace) bool {
	return mark.IsOn(namespace) && provenance.LocalOf(namespace).Namespace == ""
}

// Ready returns the condition for an outcome.
func Ready(outcome namespacemap.Outcome) metav1.Condition {
	status := metav1.ConditionFalse
	if outcome.Phase == v1alpha1.MappingAccepted {
		status = metav1.ConditionTrue
	}
	return conditions.New(v1alpha1.BindingMountNamespaceReady, status, outcome.Reason, outcome.Message)
}

// Pending returns the condition while the namespace is being created.
func Pending() *metav1.Condition {
	condition := Ready(namespacemap.Outcome{Reason: v1alpha1.ReasonPending, Message: "the mount namespace has not been created yet"})
	return &condition
}

// MayExist reports whether the provider has, or may have, Spillway's mount namespace.
func MayExist(binding *v1alpha1.ClusterBinding) bool {
	switch conditions.Reason(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady) {
	case v1alpha1.ReasonPending, v1alpha1.ReasonNamespaceActive, v1alpha1.ReasonNamespaceTerminating,
		v1alpha1.ReasonNotRequired, v1alpha1.ReasonDeletionFailed, v1alpha1.ReasonServerError, v1alpha1.ReasonVolumesRemain:
		return true
	default:
		return false
	}
}

// Usable reports whether pods can be sent to the mount namespace.
func Usable(binding *v1alpha1.ClusterBinding) bool {
	return binding.Spec.MountNamespace != "" && meta.IsStatusConditionTrue(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady)
}
