package namespacemap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestHeldBy(t *testing.T) {
	namespace := &corev1.Namespace{Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{
		{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: strings.Repeat("ä", 10_000)},
		{Type: corev1.NamespaceFinalizersRemaining, Status: corev1.ConditionFalse, Message: "none"},
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Status: corev1.ConditionTrue, Message: "a\x1b[31m\nb"},
		{Type: "Hostile", Status: corev1.ConditionTrue, Message: "x"},
	}}}
	if got := DeletionBlocker(namespace); got != "" {
		t.Errorf("of one that is not being deleted: %q", got)
	}
	namespace.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
	want := "NamespaceDeletionDiscoveryFailure: a [31m b; NamespaceContentRemaining: " + strings.Repeat("ä", maxBlocker-1) + "…"
	if got := DeletionBlocker(namespace); got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	namespace.Status.Conditions = nil
	if got := WithBlocker("it goes", DeletionBlocker(namespace)); got != "it goes" {
		t.Errorf("of one of which nothing is said: %q", got)
	}
}
