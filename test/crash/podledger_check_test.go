package crash

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestPodLedger checks that the ledger finds what must not happen. Otherwise it would mean nothing that the
// ledger finds no violation.
func TestPodLedger(t *testing.T) {
	object := func(uid types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: uid, Annotations: map[string]string{v1alpha1.AnnotationLocalUID: "local"}}
	}
	pod := func(uid types.UID) *corev1.Pod { return &corev1.Pod{ObjectMeta: object(uid)} }
	copied := func(uid types.UID) *corev1.Secret { return &corev1.Secret{ObjectMeta: object(uid)} }
	for name, test := range map[string]struct {
		happens func(*podLedger)
		wrong   int
	}{
		"one pod and one copy, for good": {func(l *podLedger) { l.added("p1", pod("1")); l.added("p1", copied("2")); l.deleted(pod("1")) }, 0},
		"a copy in each provider":        {func(l *podLedger) { l.added("p1", copied("1")); l.added("p2", copied("1")) }, 0},
		"two pods, one after the other":  {func(l *podLedger) { l.added("p1", pod("1")); l.deleted(pod("1")); l.added("p1", pod("2")) }, 1},
		"two pods at a time":             {func(l *podLedger) { l.added("p1", pod("1")); l.added("p2", pod("2")) }, 2},
		"a copy that is made again":      {func(l *podLedger) { l.added("p1", copied("1")); l.deleted(copied("1")); l.added("p1", copied("2")) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := newPodLedger("origin")
			test.happens(ledger)
			if wrong := ledger.wrong(); len(wrong) != test.wrong {
				t.Errorf("wrong is %q, want %d of it", wrong, test.wrong)
			}
		})
	}
}
