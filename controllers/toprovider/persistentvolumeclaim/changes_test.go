package persistentvolumeclaim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/testing/fields"
)

// TestChangesFollow: what the owner of a claim may change after it was sent. On a bound
// claim Kubernetes lets only two fields change.
func TestChangesFollow(t *testing.T) {
	const bound = "Kubernetes refuses the change of a bound claim"
	fields.Changes[corev1.PersistentVolumeClaimSpec]{Stay: map[string]string{
		"Resources":                 "the capacity of the volume is sent; by the request, the provider's driver would expand it, too",
		"VolumeAttributesClassName": "it is never sent",
		"AccessModes":               bound,
		"Selector":                  bound,
		"VolumeName":                bound,
		"StorageClassName":          bound,
		"VolumeMode":                bound,
		"DataSource":                bound,
		"DataSourceRef":             bound,
	}}.Check(t, nil)
}
