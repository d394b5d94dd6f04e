package persistentvolume

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// inVolume returns a subject that is somewhere in a volume.
func inVolume[T any](fields field.Decisions, where func(*corev1.PersistentVolume) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *corev1.PersistentVolume {
		t.Helper()
		return volumeOf(t, "")
	}, where, func(local *corev1.PersistentVolume) (*corev1.PersistentVolume, *field.Problem) {
		local.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "team", Name: "data", UID: "claim-uid"}
		return toRemote(local, boundClaim(), fieldtest.Mapped, around(func(string) field.Target { return fieldtest.Mapped }))
	}, nil)}
}

// boundClaim is the claim of the volume disk.
func boundClaim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "data", UID: "claim-uid"},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "disk", StorageClassName: ptr.To("fast")},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

func TestVolumeFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"PersistentVolumeSpec": inVolume(persistentVolumeSpecFields,
			func(v *corev1.PersistentVolume) *corev1.PersistentVolumeSpec { return &v.Spec }),
		"PersistentVolumeSource": inVolume(persistentVolumeSourceFields,
			func(v *corev1.PersistentVolume) *corev1.PersistentVolumeSource { return &v.Spec.PersistentVolumeSource }),
	})
}
