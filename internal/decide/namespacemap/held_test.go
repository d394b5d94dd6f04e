package namespacemap

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func held(kind corev1.NamespaceConditionType, message string) corev1.NamespaceCondition {
	return corev1.NamespaceCondition{Type: kind, Status: corev1.ConditionTrue, Message: message}
}

func TestHeldBy(t *testing.T) {
	const content, finalizers, discovery = corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionDiscoveryFailure
	const resources = "Some resources are remaining: persistentvolumeclaims. has 3 resource instances, pods. has 1 resource instances"
	const hold = "Some content in the namespace has finalizers remaining: kubernetes.io/pvc-protection in 3 resource instances, example.com/backup-of-the-storage-team in 1 resource instances"
	const api = "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of server APIs: custom.metrics.k8s.io/v1beta1: stale GroupVersion discovery: custom.metrics.k8s.io/v1beta1, external.metrics.k8s.io/v1beta1: stale GroupVersion discovery: external.metrics.k8s.io/v1beta1"
	none := held(finalizers, "none")
	none.Status = corev1.ConditionFalse
	for name, test := range map[string]struct {
		conditions []corev1.NamespaceCondition
		want       string
	}{
		"nothing is said":            {nil, ""},
		"objects with finalizers":    {[]corev1.NamespaceCondition{held(content, resources), held(finalizers, hold)}, string(content) + ": " + resources + "; " + string(finalizers) + ": " + hold},
		"two APIs that are silent":   {[]corev1.NamespaceCondition{held(discovery, api)}, string(discovery) + ": " + api},
		"in Spillway's order, once":  {[]corev1.NamespaceCondition{held(content, "b"), held(discovery, "a"), held(content, "c")}, string(discovery) + ": a; " + string(content) + ": b"},
		"what a terminal would obey": {[]corev1.NamespaceCondition{held(discovery, "a\x1b[31m\nb"), none, held("Hostile", "x")}, string(discovery) + ": a [31m b"},
	} {
		namespace := &corev1.Namespace{Status: corev1.NamespaceStatus{Conditions: test.conditions}}
		if got := DeletionBlocker(namespace); got != "" {
			t.Errorf("%s: of one that is not being deleted: %q", name, got)
		}
		namespace.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
		if got := DeletionBlocker(namespace); got != test.want {
			t.Errorf("%s: it is\n%q, want\n%q", name, got, test.want)
		}
	}
	if got := WithBlocker("it goes", ""); got != "it goes" {
		t.Errorf("of one of which nothing is said: %q", got)
	}
}

// TestHeldFits: however much a provider says, each condition is named, within what a NamespaceMap takes.
func TestHeldFits(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: builder.Epoch}}}
	for _, kind := range []corev1.NamespaceConditionType{
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionDiscoveryFailure,
		corev1.NamespaceDeletionGVParsingFailure, corev1.NamespaceDeletionContentFailure,
	} {
		namespace.Status.Conditions = append(namespace.Status.Conditions, held(kind, strings.Repeat("ä", 10_000)))
		got := WithBlocker(terminatingMessage, DeletionBlocker(namespace))
		if bounded(got) != got {
			t.Errorf("with %s it is longer than a NamespaceMap takes: %q", kind, got)
		}
		for _, condition := range namespace.Status.Conditions {
			if !strings.Contains(got, string(condition.Type)+": ä") {
				t.Errorf("%s is not named in %q", condition.Type, got)
			}
		}
	}
}
