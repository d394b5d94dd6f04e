package preview

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// blocking are the reasons of the condition Synced with which the operator leaves the cluster alone.
var blocking = []string{v1alpha1.ReasonNotFound, v1alpha1.ReasonReplaced, v1alpha1.ReasonDuplicate, v1alpha1.ReasonAlreadyExists}

// blocked says why the operator changes nothing; empty if it does.
func blocked(h *v1alpha1.HostedCluster) string {
	synced := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.HostedSynced)
	switch {
	case !h.DeletionTimestamp.IsZero():
		return "the HostedCluster is being deleted"
	case h.Spec.Paused:
		return "spec.paused is set"
	case synced != nil && synced.Status == metav1.ConditionFalse && slices.Contains(blocking, synced.Reason):
		return synced.Reason + ": " + synced.Message
	default:
		return ""
	}
}

// notes say what the plan cannot know, and what its requests wait for.
func notes(h *v1alpha1.HostedCluster) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if h.Status.ObservedGeneration != h.Generation {
		add("the operator has not processed the latest spec yet")
	}
	if c := is(h, v1alpha1.HostedSynced, metav1.ConditionFalse); c != nil && !slices.Contains(blocking, c.Reason) {
		add("since %s the cluster cannot be read, so what the cloud has may be old: %s: %s", c.LastTransitionTime.UTC().Format("2006-01-02 15:04:05 UTC"), c.Reason, c.Message)
	}
	if c := is(h, v1alpha1.HostedUpdating, metav1.ConditionTrue); c != nil && c.Reason == v1alpha1.ReasonForeignUpdate {
		add("somebody else is changing the cluster. Until that ends, nothing is sent: %s", c.Message)
	}
	if c := is(h, v1alpha1.HostedReady, metav1.ConditionFalse); c != nil && c.Reason == v1alpha1.ReasonUnhealthy {
		add("the cloud reports trouble, and a pool is not deleted while another one that the spec has does not work: %s", c.Message)
	}
	return all
}

func is(h *v1alpha1.HostedCluster, kind string, status metav1.ConditionStatus) *metav1.Condition {
	if c := meta.FindStatusCondition(h.Status.Conditions, kind); c != nil && c.Status == status {
		return c
	}
	return nil
}
