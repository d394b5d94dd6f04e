package namespacemap

import (
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// maxBlockers limits the provider's words in a message. Spillway's own words come before them, and both have to
	// fit into maxMessage.
	maxBlockers = 390
	// blockerPrefix marks in Spillway's messages where the provider's words begin.
	blockerPrefix = "the provider says "

	terminatingMessage = "the remote namespace is being deleted in the provider; Spillway recreates it when it is gone"
	notRequiredMessage = "the remote namespace is being deleted because it is no longer needed"
)

// DeletionBlocker returns the provider's words about why it cannot finish the deletion of a namespace; "" if there
// are none. The conditions share the room. What one does not need is left for those after it, so that a single one is
// hardly ever cut: the names of finalizers and APIs are at the end of Kubernetes' sentences.
func DeletionBlocker(namespace *corev1.Namespace) string {
	if namespace.DeletionTimestamp.IsZero() {
		return ""
	}
	held := blocking(namespace.Status.Conditions)
	room := maxBlockers
	for _, condition := range held {
		room -= len(condition.Type) + len(": ") + len("; ")
	}
	said := make([]string, len(held))
	for i, condition := range held {
		words := text.Bound(condition.Message, room/(len(held)-i))
		room -= utf8.RuneCountInString(words)
		said[i] = string(condition.Type) + ": " + words
	}
	return strings.Join(said, "; ")
}

// blocking returns the conditions that hold up a deletion, at most one of each type.
func blocking(conditions []corev1.NamespaceCondition) (held []corev1.NamespaceCondition) {
	for _, kind := range []corev1.NamespaceConditionType{
		corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure, corev1.NamespaceDeletionContentFailure,
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining,
	} {
		i := slices.IndexFunc(conditions, func(c corev1.NamespaceCondition) bool { return c.Type == kind })
		if i >= 0 && conditions[i].Status == corev1.ConditionTrue {
			held = append(held, conditions[i])
		}
	}
	return held
}

// WithBlocker adds to a message about a deletion why the provider cannot finish it.
func WithBlocker(message, held string) string {
	if held == "" {
		return message
	}
	return message + "; " + blockerPrefix + held
}

// WhyRemaining says why a remote namespace that should be deleted still exists; "" if that is unknown.
func WhyRemaining(entry *v1alpha1.CurrentMapping) string {
	switch {
	case entry == nil || entry.Phase != v1alpha1.MappingTerminating:
		return ""
	case entry.Reason == v1alpha1.ReasonDeletionFailed || entry.Reason == v1alpha1.ReasonServerError || entry.Reason == v1alpha1.ReasonVolumesRemain:
		return entry.Message
	}
	if _, held, found := strings.Cut(entry.Message, blockerPrefix); found {
		return blockerPrefix + held
	}
	return ""
}
