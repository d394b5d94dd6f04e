// Package conditions reads and writes conditions as the controllers need them.
package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// maxMessage limits a message to well below the 32768 bytes that Kubernetes allows: part
// of it may come from a provider.
const maxMessage = 1024

// New makes a condition of that type. Its message is on one line, and shows nothing that
// cannot be printed.
func New(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: text.Bound(message, maxMessage)}
}

// Set sets condition in conditions, for that generation. Only a changed status changes
// the transition time.
func Set(conditions *[]metav1.Condition, generation int64, condition metav1.Condition) {
	condition.ObservedGeneration = generation
	meta.SetStatusCondition(conditions, condition)
}

// Reason returns the reason of the condition of that type, or "" without one.
func Reason(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// Note cleans the note of an event, and limits it to the 1024 bytes that Kubernetes allows;
// a longer one would be refused, and the event lost.
func Note(note string) string {
	const most, ellipsis = 1024, "…"
	note = text.Clean(note)
	if len(note) <= most {
		return note
	}
	return strings.ToValidUTF8(note[:most-len(ellipsis)], "") + ellipsis
}
