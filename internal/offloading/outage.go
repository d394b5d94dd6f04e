package offloading

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// outageToldAfter is how long a provider may be away before teams are told: most
// outages are shorter, and each costs a write for every offloading when it begins
// and when it is over.
const outageToldAfter = 30 * time.Second

// Outage says in one word why a provider cannot be used, once that has lasted long
// enough for teams to be told. Until then it is "", and again is when to look.
func Outage(binding *v1alpha1.ClusterBinding, now time.Time) (reason string, again time.Duration) {
	reason, since := Away(binding)
	if wait := outageToldAfter - now.Sub(since); reason != "" && wait > 0 {
		return "", wait
	}
	return reason, 0
}

// Away says in one word why a provider cannot be used, and since when, if that is
// known; "" if it can. Unlike Unreachable, it does not change with each attempt.
func Away(binding *v1alpha1.ClusterBinding) (reason string, since time.Time) {
	if binding.Spec.Paused {
		return v1alpha1.ReasonPaused, time.Time{}
	}
	connected := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingConnected)
	if connected == nil || connected.Status != metav1.ConditionFalse {
		return "", time.Time{}
	}
	reason = connected.Reason
	if c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingCredentialsValid); c != nil && reason == v1alpha1.ReasonCredentialsInvalid {
		reason = c.Reason
	}
	return reason, connected.LastTransitionTime.Time
}

// setOutage says which providers are away. It returns when to look again: zero, if
// nothing waits to be told.
func (s Snapshot) setOutage(all *[]metav1.Condition) (again time.Duration) {
	var told []string
	for _, c := range s.Clusters {
		if !c.Selected || c.Away == "" || !s.Offloading.DeletionTimestamp.IsZero() {
			continue
		}
		if wait := outageToldAfter - s.Now.Sub(c.AwaySince); wait > 0 {
			if again == 0 || wait < again {
				again = wait
			}
			continue
		}
		told = append(told, fmt.Sprintf("%s (%s)", c.ClusterID, c.Away))
	}
	if len(told) == 0 {
		meta.RemoveStatusCondition(all, v1alpha1.OffloadingProvidersReachable)
		return again
	}
	conditions.Set(all, s.Offloading.Generation, conditions.New(v1alpha1.OffloadingProvidersReachable, metav1.ConditionFalse, v1alpha1.ReasonProviderUnreachable,
		"these cannot be reached: "+strings.Join(told, ", ")+"; pods that run there go on as far as is known, and new ones on their virtual nodes wait"))
	return again
}
