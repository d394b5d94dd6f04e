package status

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

// Wait is a problem, and its cause.
type Wait struct {
	// Type is the type of the condition, or the object that it is about; empty for the pod itself.
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// NewWait returns a Wait on one line, because providers and containers can put anything into messages.
func NewWait(kind, reason, message string) Wait {
	return Wait{Type: text.Clean(kind), Reason: text.Clean(reason), Message: strings.TrimSpace(text.Clean(message))}
}

// String implements fmt.Stringer.
func (w Wait) String() string {
	return strings.TrimSuffix(strings.TrimPrefix(w.Type+" ", " ")+w.Reason+": "+w.Message, ": ")
}

// alarms are the conditions that are True if there is a problem. All others are False then.
var alarms = []string{v1alpha1.BindingLimited, v1alpha1.BindingClockSkewed, v1alpha1.BindingWritesRefused, v1alpha1.BindingVersionSkew, v1alpha1.BindingShared, v1alpha1.OffloadingFull}

// alarming has reasons that are reported although their condition shows no problem.
var alarming = []string{v1alpha1.ReasonExpiresSoon, v1alpha1.ReasonNoUsableNodes, v1alpha1.ReasonPodsWait}

// notSeen is the reason if the manager has not reported anything yet.
const notSeen = "NotSeen"

func wrong(c metav1.Condition) bool {
	right := metav1.ConditionTrue
	if slices.Contains(alarms, c.Type) {
		right = metav1.ConditionFalse
	}
	return c.Status != right || slices.Contains(alarming, c.Reason)
}

// conditionsOf reports whether Ready is True, and which conditions show a problem.
func conditionsOf(conditions []metav1.Condition, generation int64) (ready bool, waits []Wait) {
	summary := meta.FindStatusCondition(conditions, v1alpha1.BindingReady)
	if summary == nil || summary.ObservedGeneration < generation {
		return false, []Wait{{Reason: notSeen, Message: "the manager has not seen it yet"}}
	}
	if summary.Status == metav1.ConditionTrue {
		return true, waitsOf(conditions)
	}
	// The summary repeats another condition, or says why others are Unknown.
	others := slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.Type == summary.Type || c.Status == metav1.ConditionUnknown && c.Reason == summary.Reason
	})
	if slices.ContainsFunc(others, func(c metav1.Condition) bool {
		return c.Reason == summary.Reason && strings.TrimSpace(c.Message) == summary.Message
	}) {
		return false, waitsOf(others)
	}
	return false, append(waitsOf([]metav1.Condition{*summary}), waitsOf(others)...)
}

func waitsOf(conditions []metav1.Condition) []Wait {
	var waits []Wait
	for _, c := range conditions {
		if wrong(c) {
			waits = append(waits, NewWait(c.Type, c.Reason, c.Message))
		}
	}
	return waits
}
