package secret

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestSecretFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"Secret": {Kind: reflect.TypeFor[corev1.Secret](), Fields: secretFields, Translate: fieldtest.AnywhereIn(func(*testing.T) *corev1.Secret { return &corev1.Secret{} },
			func(all *corev1.Secret) *corev1.Secret { return all }, func(local *corev1.Secret) (*corev1.Secret, *field.Problem) { return toRemote(local, fieldtest.Mapped) }, nil)},
	})
}
