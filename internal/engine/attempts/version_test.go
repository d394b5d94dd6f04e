package attempts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestVersion checks that a refusal of one pod does not apply to the next pod of its name.
func TestVersion(t *testing.T) {
	at := func(uid types.UID, generation int64, revision string) string {
		return Version(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation, ResourceVersion: revision}})
	}
	first := at("a", 1, "7")
	if at("a", 1, "8") != first {
		t.Error("a status is a new version")
	}
	if at("a", 2, "8") == first || at("b", 1, "9") == first {
		t.Error("another spec or another object is no new version")
	}
	if at("a", 0, "7") == at("a", 0, "8") {
		t.Error("what has no generation has no versions")
	}
}
