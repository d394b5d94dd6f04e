package namespacemap

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// maxBlocker limits the text of each of the provider's conditions, so that all five fit into a message.
	maxBlocker = 120
	// blockerPrefix marks in Spillway's messages where the provider's words begin.
	blockerPrefix = "the provider says "

	terminatingMessage = "the remote namespace is being deleted in the provider; Spillway recreates it when it is gone"
	notRequiredMessage = "the remote namespace is being deleted because it is no longer needed"
)

// DeletionBlocker returns the provider's words about why it cannot finish the deletion of a namespace; "" if there
// are none.
func DeletionBlocker(namespace *corev1.Namespace) string {
	if namespace.DeletionTimestamp.IsZero() {
		return ""
	}
	var held []string
	for _, kind := range []corev1.NamespaceConditionType{
		corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure, corev1.NamespaceDeletionContentFailure,
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining,
	} {
		i := slices.IndexFunc(namespace.Status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == kind })
		if i >= 0 && namespace.Status.Conditions[i].Status == corev1.ConditionTrue {
			held = append(held, string(kind)+": "+text.Bound(namespace.Status.Conditions[i].Message, maxBlocker))
		}
	}
	return strings.Join(held, "; ")
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
