// Package conditions reads and writes conditions as the controllers need them.
package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// maxMessage is the limit of a message. It is well below the 32768 bytes that Kubernetes allows, because part
// of a message may come from a provider.
const maxMessage = 1024

// New returns a condition of that type. It puts the message on one line and removes unprintable characters.
func New(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: text.Bound(message, maxMessage)}
}

// Set sets a condition for that generation. The transition time changes only if the condition's status does.
func Set(conditions *[]metav1.Condition, generation int64, condition metav1.Condition) {
	condition.ObservedGeneration = generation
	meta.SetStatusCondition(conditions, condition)
}

// Reason returns the reason of the condition of that type, or "" if there is no such condition.
func Reason(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// Note cleans the note of an event, and limits it to the 1024 bytes that Kubernetes allows. The API server
// refuses a longer note, so the event would be lost.
func Note(note string) string {
	const most, ellipsis = 1024, "…"
	note = text.Clean(note)
	if len(note) <= most {
		return note
	}
	return strings.ToValidUTF8(note[:most-len(ellipsis)], "") + ellipsis
}
