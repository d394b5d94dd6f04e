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

// setLimited reports what the provider does not let us read, or does not have, and a wrong clock. While it
// is not connected the last verdict stays, unless the binding does not connect at all.
func setLimited(s Snapshot, status *v1alpha1.ClusterBindingStatus) {
	said := ""
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingLimited); c != nil {
		said = c.Message
	}
	reason, message := limits(s.Connection, skewed(s.Connection.Skew(), said))
	switch {
	case s.Duplicate(), s.Connection.Phase == connection.Connected && reason == "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingLimited)
	case s.Connection.Phase == connection.Connected:
		conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingLimited, metav1.ConditionTrue, reason, message))
	}
}

const (
	clockAhead  = "the provider's clock is more than 5 seconds ahead of the clock here: times of its pods that are in the future come as the time at which they came"
	clockBehind = "the provider's clock is more than 5 seconds behind the clock here: its pods seem older than they are"
)

// skewed says how the provider's clock differs. While that is doubtful, it is what is said already.
func skewed(skew connection.Skew, said string) string {
	doubtful := skew == connection.Doubtful
	switch {
	case skew == connection.Ahead, doubtful && strings.Contains(said, clockAhead):
		return clockAhead
	case skew == connection.Behind, doubtful && strings.Contains(said, clockBehind):
		return clockBehind
	}
	return ""
}

// limits are empty if nothing is missing.
func limits(c connection.State, skewed string) (reason, message string) {
	var all []string
	if c.NoMetrics != "" {
		reason = v1alpha1.ReasonMetricsMissing
		all = []string{"kubectl top and HorizontalPodAutoscalers see nothing of the provider's pods: " + c.NoMetrics}
	}
	if skewed != "" {
		reason = v1alpha1.ReasonClockSkewed
		all = append(all, skewed+"; set the clocks of both clusters by NTP")
	}
	if c.Limited.Reason != "" {
		reason = c.Limited.Reason
		cure := "apply the provider.yaml of this version there"
		if reason == v1alpha1.ReasonKindNotServed {
			cure = "install its CustomResourceDefinition there"
		}
		all = append(all, "the provider "+c.Limited.What+": what needs that waits, and what is there stays as it is; "+cure)
	}
	slices.Reverse(all) // What holds pods up comes first.
	return reason, strings.Join(all, "; ")
}
