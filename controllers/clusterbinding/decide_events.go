package clusterbinding

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// event is an event about a ClusterBinding.
type event struct{ Type, Reason, Message string }

// eventOnNewReason are the conditions that get an event for every new reason; eventOnProblem get one for problems
// only.
var (
	eventOnNewReason = []string{v1alpha1.BindingReady, v1alpha1.BindingLimited, v1alpha1.BindingClockSkewed, v1alpha1.BindingWritesRefused, v1alpha1.BindingVersionSkew, v1alpha1.BindingShared, v1alpha1.BindingDrained}
	eventOnProblem   = []string{v1alpha1.BindingNetwork, v1alpha1.BindingFenced, v1alpha1.BindingClassesReady, v1alpha1.BindingConsumerAPI}
)

// eventsOf lists the changes of conditions that deserve an event. It does not repeat what Ready says.
func eventsOf(before, after []metav1.Condition) []event {
	var news []event
	changed := func(kind string) *metav1.Condition {
		c := meta.FindStatusCondition(after, kind)
		if c == nil || c.Reason == conditions.Reason(before, kind) {
			return nil
		}
		return c
	}
	for _, kind := range eventOnNewReason {
		if c := changed(kind); c != nil {
			news = append(news, event{eventType(c.Reason), c.Reason, orReason(c.Message, c.Reason)})
		}
	}
	for _, kind := range eventOnProblem {
		if c := changed(kind); c != nil && c.Status == metav1.ConditionFalse && c.Reason != conditions.Reason(after, v1alpha1.BindingReady) {
			news = append(news, event{corev1.EventTypeWarning, c.Reason, orReason(c.Message, c.Reason)})
		}
	}
	return news
}

func eventType(reason string) string {
	switch reason {
	case v1alpha1.ReasonReady, v1alpha1.ReasonConnecting, v1alpha1.ReasonNodePending, v1alpha1.ReasonNodeNotReady, v1alpha1.ReasonPaused, v1alpha1.ReasonDeleting,
		v1alpha1.ReasonCordoning, v1alpha1.ReasonEvictingPods, v1alpha1.ReasonDeletingCopies, v1alpha1.ReasonDeletingNamespaces,
		v1alpha1.ReasonPending, v1alpha1.ReasonDeletingNamespaceMap, v1alpha1.ReasonReleasingObjects, v1alpha1.ReasonDeletingNode,
		v1alpha1.ReasonDeletingLease, v1alpha1.ReasonDrained:
		return corev1.EventTypeNormal
	default:
		return corev1.EventTypeWarning
	}
}

func orReason(message, reason string) string {
	if message == "" {
		return reason
	}
	return message
}
