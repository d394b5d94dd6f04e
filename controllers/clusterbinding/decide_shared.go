package clusterbinding

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// share sets or removes the condition that says with which binding this one shares its provider.
func share(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	if c := shared(s); c != nil {
		conditions.Set(&status.Conditions, s.Binding.Generation, *c)
		return
	}
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingShared)
}

// noCapacityMessage returns a message if older bindings of the provider leave the virtual node no room for pods,
// otherwise "".
func noCapacityMessage(s snapshot) string {
	older := s.Bindings.Older(s.Binding)
	if len(older) == 0 || !s.Node.Status.Capacity.Pods().IsZero() {
		return ""
	}
	return fmt.Sprintf("Node %s has no capacity for pods: ClusterBinding %s is older, uses the same provider, and offers all of it", s.Node.Name, older[0].Name)
}

// shared returns a condition that names the other binding of the same provider, or one that may lead to it.
// It is nil if there is none.
func shared(s snapshot) *metav1.Condition {
	older, others := s.Bindings.Older(s.Binding), s.Bindings.Contradicting(s.Binding)
	notProven := ""
	if len(others) > 0 {
		notProven = fmt.Sprintf("the provider of ClusterBinding %s (clusterID %s) claims to be the same cluster, but has another certificate authority: "+
			"neither binding reduces the capacity of the other", others[0].Name, others[0].Spec.ClusterID)
	}
	if len(older) > 0 {
		message := fmt.Sprintf("ClusterBinding %s (clusterID %s) is older and uses the same provider: this virtual node offers the remaining capacity, "+
			"and a namespace that selects both is offloaded through the older one", older[0].Name, older[0].Spec.ClusterID)
		if notProven != "" {
			message += "; " + notProven
		}
		return condition(v1alpha1.BindingShared, metav1.ConditionTrue, v1alpha1.ReasonProviderSharedWith, message)
	}
	if notProven != "" {
		return condition(v1alpha1.BindingShared, metav1.ConditionUnknown, v1alpha1.ReasonIdentityNotProven, notProven)
	}
	return nil
}
