package configmap

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestConfigmapFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"ConfigMap": {Kind: reflect.TypeFor[corev1.ConfigMap](), Fields: configMapFields, Translate: fieldtest.AnywhereIn(func(*testing.T) *corev1.ConfigMap { return &corev1.ConfigMap{} },
			func(all *corev1.ConfigMap) *corev1.ConfigMap { return all }, func(local *corev1.ConfigMap) (*corev1.ConfigMap, *field.Problem) {
				return toRemote(local, fieldtest.Mapped)
			}, nil)},
	})
}
