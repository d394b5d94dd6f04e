package binding

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/placement"
)

// share says whether, and with whom, the binding shares its provider.
func share(s Snapshot, status *v1alpha1.ClusterBindingStatus) {
	if c := shared(s); c != nil {
		conditions.Set(&status.Conditions, s.Binding.Generation, *c)
		return
	}
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingShared)
}

// shared says which older binding leads to the same provider; nil if none does.
func shared(s Snapshot) *metav1.Condition {
	older := placement.Sharing(s.Binding, s.Bindings)
	if len(older) == 0 {
		return nil
	}
	return condition(v1alpha1.BindingShared, metav1.ConditionTrue, v1alpha1.ReasonProviderSharedWith, fmt.Sprintf(
		"ClusterBinding %s (clusterID %s) is older and leads to the same provider: the virtual node offers what that one leaves, "+
			"and a namespace that both are selected for is offloaded through that one", older[0].Name, older[0].Spec.ClusterID))
}
