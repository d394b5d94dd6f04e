package clusterbinding

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

const setClocks = "; synchronize the clocks of both clusters with NTP"

// setClock reports that the provider's clock is wrong. While that is in doubt, or the provider is not
// connected, the last verdict stays.
func setClock(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	set := func(reason, message string) {
		conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingClockSkewed, metav1.ConditionTrue, reason, message+setClocks))
	}
	connected, said := s.Connection.Phase == connection.Connected, conditions.Reason(status.Conditions, v1alpha1.BindingClockSkewed)
	crossed := said == v1alpha1.ReasonClockAhead && s.Connection.ClockSkew < 0 || said == v1alpha1.ReasonClockBehind && s.Connection.ClockSkew > 0
	switch skew := s.Connection.Skew(); {
	case s.Duplicate(), connected && (skew == connection.InStep || skew == connection.Doubtful && crossed):
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingClockSkewed)
	case connected && skew == connection.Ahead:
		set(v1alpha1.ReasonClockAhead, "the provider's clock is more than 5 seconds ahead of the consumer's: future timestamps of its pods are replaced with the time of their arrival")
	case connected && skew == connection.Behind:
		set(v1alpha1.ReasonClockBehind, "the provider's clock is more than 5 seconds behind the consumer's: its pods seem older than they are")
	}
}
