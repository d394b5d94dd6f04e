package samples

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// persistentVolume is the volume of a claim that a pod mounts.
func persistentVolume(namespace, name, node string) Sample[*corev1.PersistentVolume] {
	return Sample[*corev1.PersistentVolume]{
		Object: Volume(namespace, name),
		With:   []client.Object{newClaim(namespace, name), newPod(namespace, name, node, claimSource(name))},
		Shows: func(v *corev1.PersistentVolume) string {
			return v.Labels[label] + "," + string(v.Spec.PersistentVolumeReclaimPolicy) + "," + v.Spec.Capacity.Storage().String()
		},
		Change: func(local *corev1.PersistentVolume) { // It is expanded.
			local.Labels[label], local.Spec.Capacity[corev1.ResourceStorage] = "changed", resource.MustParse("2Gi")
		},
		Drift: func(remote *corev1.PersistentVolume) {
			remote.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
			remote.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("3Gi")
			remote.Labels[label] = "drifted"
		},
		Hostile: func(remote *corev1.PersistentVolume, word string) {
			hostileMeta(remote, word)
			remote.Spec.MountOptions = append(remote.Spec.MountOptions, word)
			remote.Status.Message, remote.Status.Reason = word, word
		},
	}
}
