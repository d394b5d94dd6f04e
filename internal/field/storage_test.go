package field_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
)

// TestSecretAttribute: some drivers read the Secret that an attribute names.
func TestSecretAttribute(t *testing.T) {
	for want, attributes := range map[string]map[string]string{
		"":                 {"share": "a", "secret": "b", "name": "c", "nameOfSecret": "d"},
		"secretName":       {"share": "a", "secretName": "s"},
		"SECRET-user-NAME": {"SECRET-user-NAME": "s"},
		"a-secret-name":    {"b-secret-name": "s", "a-secret-name": "s"},
	} {
		if got := field.SecretAttribute(attributes); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestReclaimOfAClass: only what surely says Delete does not keep the data.
func TestReclaimOfAClass(t *testing.T) {
	const keep, remove = corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimDelete
	for policy, want := range map[*corev1.PersistentVolumeReclaimPolicy]corev1.PersistentVolumeReclaimPolicy{
		nil: remove, ptr.To(remove): remove, ptr.To(keep): keep, ptr.To(corev1.PersistentVolumeReclaimPolicy("Archive")): keep,
	} {
		if got := field.StorageOf(&storagev1.StorageClass{ReclaimPolicy: policy}).Reclaim; got != want {
			t.Errorf("%v: got %s, want %s", policy, got, want)
		}
	}
}

func TestProviderOfVolume(t *testing.T) {
	for volume, want := range map[string]string{field.VolumeName("eu-1", "u"): "eu-1", field.VolumeName("eu-1", "another"): "", "pvc-u": "", "": ""} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
		if got := field.ProviderOfVolume(claim); got != want {
			t.Errorf("%q: got %q", volume, got)
		}
	}
}
