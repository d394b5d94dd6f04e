// Package conditions reads and writes conditions in the few ways that the
// controllers need.
package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage bounds a message well below the 32768 bytes that Kubernetes
// allows: part of it may come from a provider.
const maxMessage = 1024

// New makes a condition of that type.
func New(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	if r := []rune(message); len(r) > maxMessage {
		message = string(r[:maxMessage-1]) + "…"
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// Set puts condition among conditions, about that generation. The transition
// time changes with the status only.
func Set(conditions *[]metav1.Condition, generation int64, condition metav1.Condition) {
	condition.ObservedGeneration = generation
	meta.SetStatusCondition(conditions, condition)
}

// Reason of the condition of that type, or "" if there is none.
func Reason(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// Note bounds the note of an event to the 1024 bytes that Kubernetes allows; one
// that is longer would be refused, and the event lost.
func Note(note string) string {
	const most, ellipsis = 1024, "…"
	if len(note) <= most {
		return note
	}
	return strings.ToValidUTF8(note[:most-len(ellipsis)], "") + ellipsis
}
