package clusterbinding

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// setLimited reports which objects the provider does not let the manager read, or does not have. While it is
// not connected, the last verdict stays, unless the binding does not connect at all.
func setLimited(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	reason, message := limits(s.Connection)
	switch {
	case s.Duplicate(), s.Connection.Phase == connection.Connected && reason == "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingLimited)
	case s.Connection.Phase == connection.Connected:
		conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingLimited, metav1.ConditionTrue, reason, message))
	}
}

// limits returns the reason and the message, which are empty if nothing is missing.
func limits(c connection.State) (reason, message string) {
	var all []string
	if c.NoForeign != "" {
		reason = v1alpha1.ReasonForeignPodsUnknown
		all = []string{"the virtual node also offers what other pods in the provider use: " + c.NoForeign}
	}
	if c.NoMetrics != "" {
		reason = v1alpha1.ReasonMetricsMissing
		all = append(all, "kubectl top and HorizontalPodAutoscalers have no metrics of remote pods: "+c.NoMetrics)
	}
	if c.Limited.Reason != "" {
		reason = c.Limited.Reason
		cure := "apply this version's provider.yaml there"
		if reason == v1alpha1.ReasonKindNotServed {
			cure = "install its CustomResourceDefinition there"
		}
		all = append(all, "the provider "+c.Limited.What+": objects that need this wait, and existing remote objects stay unchanged; "+cure)
	}
	slices.Reverse(all) // Problems that hold up pods come first.
	return reason, strings.Join(all, "; ")
}
