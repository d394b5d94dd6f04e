package persistentvolume

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/fields"
	"github.com/spillway-io/spillway/test/samples"
)

// TestChangesFollow: what the owner of a volume may change after it was sent.
func TestChangesFollow(t *testing.T) {
	fields.Changes[corev1.PersistentVolumeSpec]{
		Follow: map[string]func(*corev1.PersistentVolumeSpec){
			"Capacity":     func(v *corev1.PersistentVolumeSpec) { v.Capacity[corev1.ResourceStorage] = resource.MustParse("2Gi") },
			"AccessModes":  func(v *corev1.PersistentVolumeSpec) { v.AccessModes = append(v.AccessModes, corev1.ReadOnlyMany) },
			"MountOptions": func(v *corev1.PersistentVolumeSpec) { v.MountOptions = []string{"hard"} },
			"PersistentVolumeReclaimPolicy": func(v *corev1.PersistentVolumeSpec) {
				v.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
			},
		},
		Stay: map[string]string{
			"PersistentVolumeSource":    "Kubernetes refuses the change, but for controllerExpandSecretRef, which is for the consumer's driver",
			"VolumeMode":                "Kubernetes refuses the change",
			"ClaimRef":                  "the provider binds it; see TestMergeReplaces",
			"StorageClassName":          "it is the claim's, which Kubernetes does not let change",
			"NodeAffinity":              "Kubernetes lets it be set once, before a pod uses the volume",
			"VolumeAttributesClassName": "it is never sent",
		},
	}.Check(t, func(t *testing.T, change func(*corev1.PersistentVolumeSpec)) (got, want any) {
		t.Helper()
		to := field.Target{Namespace: "team-home"}
		sent := func(local *corev1.PersistentVolume) *corev1.PersistentVolume {
			remote, refusal := translation{}.Remote(local, to, decide.Inputs{TargetFor: func(string) field.Target { return to }})
			if refusal != nil {
				t.Fatal(refusal.Message)
			}
			return remote
		}
		local := samples.Volume("team", "data")
		remote := sent(local)
		change(&local.Spec)
		merged, _ := translation{}.Merge(sent(local), remote)
		return merged.Spec, sent(local).Spec
	})
}
