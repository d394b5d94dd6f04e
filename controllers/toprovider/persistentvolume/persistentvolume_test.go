package persistentvolume

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// A volume that will never be bound to its claim again is replaced, but not before its
// policy protects the stored data.
func TestMergeReplaces(t *testing.T) {
	volume := func(phase corev1.PersistentVolumePhase, namespace string, uid types.UID, policy corev1.PersistentVolumeReclaimPolicy) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{
			Spec: corev1.PersistentVolumeSpec{
				ClaimRef: &corev1.ObjectReference{Namespace: namespace, Name: "data", UID: uid}, PersistentVolumeReclaimPolicy: policy,
			},
			Status: corev1.PersistentVolumeStatus{Phase: phase},
		}
	}
	const retain = corev1.PersistentVolumeReclaimRetain
	desired := volume("", "team-home", "", retain)
	for name, test := range map[string]struct {
		remote           *corev1.PersistentVolume
		replace, changed bool
	}{
		"new":                                    {volume("", "team-home", "", retain), false, false},
		"free":                                   {volume(corev1.VolumeAvailable, "team-home", "", retain), false, false},
		"bound":                                  {volume(corev1.VolumeBound, "team-home", "1", retain), false, false},
		"its claim is gone":                      {volume(corev1.VolumeReleased, "team-home", "1", retain), true, false},
		"its claim is gone, and it would go":     {volume(corev1.VolumeReleased, "team-home", "1", corev1.PersistentVolumeReclaimDelete), false, true},
		"bound to the claim of another place":    {volume(corev1.VolumeBound, "mount", "1", retain), false, false},
		"free, for the claim of another place":   {volume(corev1.VolumeAvailable, "mount", "", retain), true, false},
		"released by the one of another place":   {volume(corev1.VolumeReleased, "mount", "1", retain), true, false},
		"bound, and somebody would have it gone": {volume(corev1.VolumeBound, "team-home", "1", corev1.PersistentVolumeReclaimDelete), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			merged, replace := translation{}.Merge(desired, test.remote)
			if replace != test.replace || equality.Semantic.DeepEqual(merged, test.remote) == test.changed {
				t.Errorf("replace %t, %v", replace, merged)
			}
		})
	}
}
