package samples

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// persistentVolumeClaim is a claim that a pod mounts, with its volume.
func persistentVolumeClaim(namespace, name, node string) Sample[*corev1.PersistentVolumeClaim] {
	return Sample[*corev1.PersistentVolumeClaim]{
		Object: newClaim(namespace, name),
		With:   []client.Object{Volume(namespace, name), newPod(namespace, name, node, claimSource(name))},
		Shows: func(c *corev1.PersistentVolumeClaim) string {
			return c.Labels[label] + "," + c.Spec.Resources.Requests.Storage().String()
		},
		Change: func(local *corev1.PersistentVolumeClaim) { local.Labels[label] = "changed" },
		Drift:  func(remote *corev1.PersistentVolumeClaim) { remote.Labels[label] = "drifted" },
		Hostile: func(remote *corev1.PersistentVolumeClaim, word string) {
			hostileMeta(remote, word)
			remote.Status.Conditions = append(remote.Status.Conditions, corev1.PersistentVolumeClaimCondition{
				Type: "Hostile", Status: corev1.ConditionTrue, Message: word,
			})
		},
	}
}
