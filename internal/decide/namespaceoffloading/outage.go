package namespaceoffloading

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/retry"
)

// outageReportAfter is how long a provider may be away before teams are told. Most outages are shorter. Each
// reported outage costs two writes for every offloading, one at its beginning and one at its end.
const outageReportAfter = 30 * time.Second

// Outage returns the reason why a provider cannot be used, once that has lasted long enough to tell teams.
// Until then reason is "", and again is when to check.
func Outage(binding *v1alpha1.ClusterBinding, now time.Time) (reason string, again time.Duration) {
	reason, since := Away(binding)
	if wait := outageReportAfter - now.Sub(since); reason != "" && wait > 0 {
		return "", wait
	}
	return reason, 0
}

// Away returns the reason why a provider cannot be used, and since when, if known. The reason is "" if the
// provider can be used. Unlike the result of Unreachable, it does not change with each attempt.
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

// Answers reports whether a provider can be used, and what is known about its pods is current. One that lets the manager
// hold no Lease can be used.
func Answers(binding *v1alpha1.ClusterBinding) bool {
	away, _ := Away(binding)
	fence := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingFenced)
	closed := fence != nil && fence.Status == metav1.ConditionFalse && fence.Reason != v1alpha1.ReasonLeaseForbidden && fence.Reason != v1alpha1.ReasonLeaseUnavailable
	return away == "" && binding.DeletionTimestamp.IsZero() && !closed
}

// setOutage reports which providers are away. It returns when to check again; zero if nothing is pending.
func (s Snapshot) setOutage(all *[]metav1.Condition) (again time.Duration) {
	var told, paused []string
	for _, c := range s.Clusters {
		if !c.Selected || c.Away == "" || !s.Offloading.DeletionTimestamp.IsZero() {
			continue
		}
		if wait := outageReportAfter - s.Now.Sub(c.AwaySince); wait > 0 {
			again = retry.Sooner(again, wait)
			continue
		}
		if c.Away == v1alpha1.ReasonPaused {
			paused = append(paused, c.ClusterID)
		} else {
			told = append(told, fmt.Sprintf("%s (%s)", c.ClusterID, c.Away))
		}
	}
	if len(told)+len(paused) == 0 {
		meta.RemoveStatusCondition(all, v1alpha1.OffloadingProvidersReachable)
		return again
	}
	conditions.Set(all, s.Offloading.Generation, conditions.New(v1alpha1.OffloadingProvidersReachable, metav1.ConditionFalse, v1alpha1.ReasonProviderUnreachable,
		awayMessage(told, paused)+"; as far as is known, pods there keep running; new pods on these virtual nodes wait"+patience(told)))
	return again
}

// patience says how long Kubernetes waits before it deletes pods of unreachable providers. The virtual node
// of a paused provider does not become NotReady.
func patience(unreachable []string) string {
	if len(unreachable) == 0 {
		return ""
	}
	return "; when a virtual node is NotReady longer than a pod tolerates (5 minutes by default), Kubernetes deletes the pod, " +
		"and it ends in the provider once that is reachable"
}

// awayMessage names the providers that cannot be reached, and those that are paused.
func awayMessage(unreachable, paused []string) string {
	var parts []string
	if len(unreachable) > 0 {
		parts = append(parts, "unreachable providers: "+strings.Join(unreachable, ", "))
	}
	for _, clusterID := range paused {
		parts = append(parts, pausedBy(clusterID))
	}
	return strings.Join(parts, "; ")
}

// pausedBy says who has stopped writes to a reachable provider.
func pausedBy(clusterID string) string {
	return fmt.Sprintf("the platform engineer has paused provider %s (spec.paused of its ClusterBinding)", clusterID)
}

// NotSent tells a pod's owner why the pod has not been sent to a provider that is away.
func NotSent(clusterID, reason string) string {
	if reason == v1alpha1.ReasonPaused {
		return pausedBy(clusterID) + ": the pod is sent once that ends"
	}
	return fmt.Sprintf("provider %s cannot be reached (%s): the pod is sent once it is reachable", clusterID, reason)
}
