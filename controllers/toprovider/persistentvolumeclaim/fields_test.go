package persistentvolumeclaim

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestClaimFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"PersistentVolumeClaimSpec": {Kind: reflect.TypeFor[corev1.PersistentVolumeClaimSpec](), Fields: persistentVolumeClaimSpecFields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *corev1.PersistentVolumeClaim {
			t.Helper()
			return fieldtest.ClaimOf(t, "")
		}, func(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaimSpec { return &c.Spec }, func(local *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, *field.Problem) {
			local.Spec.VolumeName = "disk"
			return ToRemote(local, fieldtest.Mapped)
		}, nil)},
	})
}
