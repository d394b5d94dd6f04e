package persistentvolume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// sample is the volume of a claim that a pod mounts.
func sample(namespace, name, node string) kind.Sample[*corev1.PersistentVolume] {
	return kind.Sample[*corev1.PersistentVolume]{
		Object: kind.SampleVolume(namespace, name),
		With:   []decide.Object{kind.SampleClaim(namespace, name), kind.SamplePod(namespace, name, node, kind.SampleClaimSource(name))},
		Shows: func(v *corev1.PersistentVolume) string {
			return v.Labels[kind.SampleLabel] + "," + string(v.Spec.PersistentVolumeReclaimPolicy) + "," + v.Spec.Capacity.Storage().String()
		},
		Change: func(local *corev1.PersistentVolume) { // It is expanded.
			local.Labels[kind.SampleLabel], local.Spec.Capacity[corev1.ResourceStorage] = "changed", resource.MustParse("2Gi")
		},
		Drift: func(remote *corev1.PersistentVolume) {
			remote.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
			remote.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("3Gi")
			remote.Labels[kind.SampleLabel] = "drifted"
		},
		Hostile: func(remote *corev1.PersistentVolume, word string) {
			kind.HostileMeta(remote, word)
			remote.Spec.MountOptions = append(remote.Spec.MountOptions, word)
			remote.Status.Message, remote.Status.Reason = word, word
		},
	}
}
