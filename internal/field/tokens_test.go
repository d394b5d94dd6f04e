package field_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// TestTokenSecrets: a team may call its Secrets what it likes, unless the tokens of a pod may have that name.
func TestTokenSecrets(t *testing.T) {
	const pod = "0b9cbe4a-6c2f-4d0e-9a55-3f4f3a1d7c11"
	of := func(name, local string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1alpha1.AnnotationLocalUID: local}}
	}
	for name, test := range map[string]struct {
		is            metav1.Object
		tokens, named bool
	}{
		"the tokens of a pod":                   {&corev1.Secret{ObjectMeta: of("spillway-token-"+pod, pod)}, true, true},
		"the copy of a Secret that is so named": {&corev1.Secret{ObjectMeta: of("spillway-token-"+pod, "another")}, false, true},
		"the copy of a team's own Secret":       {&corev1.Secret{ObjectMeta: of("spillway-token-slack", "another")}, false, false},
		"nobody's Secret":                       {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "spillway-token-"}}, false, false},
		"a ConfigMap":                           {&corev1.ConfigMap{ObjectMeta: of("spillway-token-"+pod, pod)}, false, true},
	} {
		if got := field.IsTokenSecret(test.is); got != test.tokens {
			t.Errorf("%s has tokens: %v", name, got)
		}
		if got := field.IsTokenSecretName(test.is.GetName()); got != test.named {
			t.Errorf("%s has a name of tokens: %v", name, got)
		}
	}
}
