// Package mountnamespace decides, without any I/O, about the mount namespace of a
// provider, which takes the pods of namespaces without a remote one.
//
// It carries the mark but, unlike other remote namespaces, no annotation of a local
// namespace. The condition MountNamespaceReady reports on it, even before the namespace
// is created: with no condition, or with a reason that says that there is none, none
// can exist, and the deletion of the ClusterBinding need not wait for a provider that
// was never usable.
package mountnamespace

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/provenance"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	// Binding has spec.mountNamespace set.
	Binding *v1alpha1.ClusterBinding
	Mark    provenance.Mark
	// Remote is the namespace of that name in the provider, or nil.
	Remote *corev1.Namespace
	// ManagerNamespace is never a target.
	ManagerNamespace string
}

// Plan is what to do, and what to report once it is done.
type Plan struct {
	// Create asks for the namespace.
	Create bool
	// Delete is the UID of the namespace to delete, or "".
	Delete types.UID
	// Ready is the condition, or nil if it stays as it is.
	Ready *metav1.Condition
}

// Decide compares what exists with what should.
func Decide(s Snapshot) Plan {
	name := s.Binding.Spec.MountNamespace
	if err := namespacemap.CheckRemote(name, s.ManagerNamespace); err != nil {
		return Plan{Ready: no(v1alpha1.ReasonNameReserved, err.Error())}
	}
	if !s.Binding.DeletionTimestamp.IsZero() {
		return s.deleting()
	}
	switch {
	case s.Remote == nil:
		return Plan{Create: true, Ready: Pending()}
	case !s.ours():
		return Plan{Ready: no(v1alpha1.ReasonNameConflict,
			fmt.Sprintf("namespace %s exists in provider %s, and is left alone: %s", name, s.Binding.Spec.ClusterID, provenance.Describe(s.Remote)))}
	case !s.Remote.DeletionTimestamp.IsZero():
		return Plan{Ready: no(v1alpha1.ReasonNamespaceTerminating,
			fmt.Sprintf("namespace %s is being deleted in provider %s; it is made again when it is gone", name, s.Binding.Spec.ClusterID))}
	default:
		ready := conditions.New(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "")
		return Plan{Ready: &ready}
	}
}

// deleting decides once the ordered deletion of the binding has reached the remote
// namespaces.
func (s Snapshot) deleting() Plan {
	if conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingDrained) != v1alpha1.ReasonDeletingNamespaces {
		return Plan{}
	}
	if s.Remote == nil || !s.ours() {
		return Plan{Ready: no(v1alpha1.ReasonNamespaceDeleted, "the mount namespace is deleted")}
	}
	plan := Plan{Ready: no(v1alpha1.ReasonNotRequired, "the mount namespace is being deleted, because the ClusterBinding is")}
	if s.Remote.DeletionTimestamp.IsZero() {
		plan.Delete = s.Remote.UID
	}
	return plan
}

// ours reports whether the namespace is the binding's mount namespace. One that
// represents a local namespace is not.
func (s Snapshot) ours() bool {
	return s.Mark.IsOn(s.Remote) && provenance.LocalOf(s.Remote).Namespace == ""
}

// MayExist reports whether the provider has, or may have, a mount namespace of ours.
func MayExist(binding *v1alpha1.ClusterBinding) bool {
	switch conditions.Reason(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady) {
	case v1alpha1.ReasonPending, v1alpha1.ReasonNamespaceActive, v1alpha1.ReasonNamespaceTerminating,
		v1alpha1.ReasonNotRequired, v1alpha1.ReasonDeletionFailed, v1alpha1.ReasonServerError:
		return true
	default:
		return false
	}
}

// Usable reports whether pods can be sent to the mount namespace.
func Usable(binding *v1alpha1.ClusterBinding) bool {
	return binding.Spec.MountNamespace != "" && meta.IsStatusConditionTrue(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady)
}

// Pending is the condition while the namespace is being created.
func Pending() *metav1.Condition {
	return no(v1alpha1.ReasonPending, "the mount namespace has not been created yet")
}

// Refused is the plan after the provider has refused what plan asks for.
func Refused(plan Plan, answer string) Plan {
	if plan.Create {
		return Plan{Ready: no(v1alpha1.ReasonCreationFailed, answer)}
	}
	return Plan{Ready: no(v1alpha1.ReasonDeletionFailed, answer)}
}

// Failing is the plan after the provider has failed for a while to do what was asked.
// The request may still have taken effect.
func Failing(answer string) Plan { return Plan{Ready: no(v1alpha1.ReasonServerError, answer)} }

// IsFailing returns that answer if the binding reports it.
func IsFailing(binding *v1alpha1.ClusterBinding) (answer string, ok bool) {
	c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady)
	if c == nil || c.Reason != v1alpha1.ReasonServerError {
		return "", false
	}
	return c.Message, true
}

func no(reason, message string) *metav1.Condition {
	condition := conditions.New(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, reason, message)
	return &condition
}
