package clusterbinding

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// News is an event about a ClusterBinding.
type News struct{ Type, Reason, Message string }

// tellAlways are the conditions that get an event for every new reason; tellBad get one for problems only.
var (
	tellAlways = []string{v1alpha1.BindingReady, v1alpha1.BindingLimited, v1alpha1.BindingClockSkewed, v1alpha1.BindingWritesRefused, v1alpha1.BindingVersionSkew, v1alpha1.BindingShared, v1alpha1.BindingDrained}
	tellBad    = []string{v1alpha1.BindingNetwork, v1alpha1.BindingFenced, v1alpha1.BindingClassesReady}
)

// NewsOf lists the changes of conditions that deserve an event. It does not repeat what Ready says.
func NewsOf(before, after []metav1.Condition) []News {
	var news []News
	changed := func(kind string) *metav1.Condition {
		c := meta.FindStatusCondition(after, kind)
		if c == nil || c.Reason == conditions.Reason(before, kind) {
			return nil
		}
		return c
	}
	for _, kind := range tellAlways {
		if c := changed(kind); c != nil {
			news = append(news, News{eventType(c.Reason), c.Reason, orReason(c.Message, c.Reason)})
		}
	}
	for _, kind := range tellBad {
		if c := changed(kind); c != nil && c.Status == metav1.ConditionFalse && c.Reason != conditions.Reason(after, v1alpha1.BindingReady) {
			news = append(news, News{corev1.EventTypeWarning, c.Reason, orReason(c.Message, c.Reason)})
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
