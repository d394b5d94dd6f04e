package persistentvolumeclaim

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// sample is a claim that a pod mounts, with its volume.
func sample(namespace, name, node string) kind.Sample[*corev1.PersistentVolumeClaim] {
	return kind.Sample[*corev1.PersistentVolumeClaim]{
		Object: kind.SampleClaim(namespace, name),
		With:   []decide.Object{kind.SampleVolume(namespace, name), kind.SamplePod(namespace, name, node, kind.SampleClaimSource(name))},
		Shows: func(c *corev1.PersistentVolumeClaim) string {
			return c.Labels[kind.SampleLabel] + "," + c.Spec.Resources.Requests.Storage().String()
		},
		Change: func(local *corev1.PersistentVolumeClaim) { local.Labels[kind.SampleLabel] = "changed" },
		Drift:  func(remote *corev1.PersistentVolumeClaim) { remote.Labels[kind.SampleLabel] = "drifted" },
		Hostile: func(remote *corev1.PersistentVolumeClaim, word string) {
			kind.HostileMeta(remote, word)
			remote.Status.Conditions = append(remote.Status.Conditions, corev1.PersistentVolumeClaimCondition{
				Type: "Hostile", Status: corev1.ConditionTrue, Message: word,
			})
		},
	}
}
