package secret

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/fields"
)

// TestChangesFollow: what the owner of a Secret may change after it was sent.
func TestChangesFollow(t *testing.T) {
	fields.Changes[corev1.Secret]{
		Follow: map[string]func(*corev1.Secret){
			"Data":      func(s *corev1.Secret) { s.Data["a"] = []byte("2") },
			"Immutable": func(s *corev1.Secret) { s.Immutable = new(true) },
		},
		Stay: map[string]string{
			"TypeMeta":   "typed clients fill it in",
			"ObjectMeta": "its labels and annotations are those of translate.Merged",
			"StringData": "the API server turns it into Data",
			"Type":       "Kubernetes refuses the change",
		},
	}.Check(t, func(t *testing.T, change func(*corev1.Secret)) (got, want any) {
		t.Helper()
		sent := func(local *corev1.Secret) *corev1.Secret {
			remote, refusal := translation{}.Remote(local, field.Target{Namespace: "team-home"}, decide.Inputs{})
			if refusal != nil {
				t.Fatal(refusal.Message)
			}
			return remote
		}
		local := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a"}, Data: map[string][]byte{"a": []byte("1")}}
		remote := sent(local)
		change(local)
		merged, _ := translation{}.Merge(sent(local), remote)
		return merged, sent(local)
	})
}
