package clusterbinding

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/connection"
)

// setLimited reports what the provider does not let us read. While it is not connected
// the last verdict stays, unless the binding does not connect at all.
func setLimited(s Snapshot, status *v1alpha1.ClusterBindingStatus) {
	switch {
	case s.Duplicate(), s.Connection.Phase == connection.Connected && s.Connection.Limited == "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingLimited)
	case s.Connection.Phase == connection.Connected:
		conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingLimited, metav1.ConditionTrue, v1alpha1.ReasonRightsMissing,
			"the provider gives no right to "+s.Connection.Limited+": what needs that waits, and what is there stays as it is; "+
				"apply the provider.yaml of this version there"))
	}
}
