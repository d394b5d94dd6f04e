package configmap

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/fields"
)

// TestChangesFollow: what the owner of a ConfigMap may change after it was sent.
func TestChangesFollow(t *testing.T) {
	fields.Changes[corev1.ConfigMap]{
		Follow: map[string]func(*corev1.ConfigMap){
			"Data":       func(c *corev1.ConfigMap) { c.Data["a"] = "2" },
			"BinaryData": func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"b": {1}} },
			"Immutable":  func(c *corev1.ConfigMap) { c.Immutable = new(true) },
		},
		Stay: map[string]string{
			"TypeMeta":   "typed clients fill it in",
			"ObjectMeta": "its labels and annotations are those of translate.Merged",
		},
	}.Check(t, func(t *testing.T, change func(*corev1.ConfigMap)) (got, want any) {
		t.Helper()
		sent := func(local *corev1.ConfigMap) *corev1.ConfigMap {
			remote, refusal := translation{}.Remote(local, field.Target{Namespace: "team-home"}, decide.Inputs{})
			if refusal != nil {
				t.Fatal(refusal.Message)
			}
			return remote
		}
		local := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}, Data: map[string]string{"a": "1"}}
		remote := sent(local)
		change(local)
		merged, _ := translation{}.Merge(sent(local), remote)
		return merged, sent(local)
	})
}
