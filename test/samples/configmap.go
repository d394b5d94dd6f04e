package samples

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configMap is a ConfigMap that a pod mounts.
func configMap(namespace, name, node string) Sample[*corev1.ConfigMap] {
	return Sample[*corev1.ConfigMap]{
		Object: &corev1.ConfigMap{ObjectMeta: meta(namespace, name), Data: map[string]string{key: "created"}},
		With: []client.Object{newPod(namespace, name, node, corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		})},
		Shows: func(c *corev1.ConfigMap) string {
			text := c.Labels[label]
			for _, k := range slices.Sorted(maps.Keys(c.Data)) {
				text += "," + k + "=" + c.Data[k]
			}
			return text
		},
		Change: func(local *corev1.ConfigMap) { local.Data[key], local.Labels[label] = "changed", "changed" },
		Drift:  func(remote *corev1.ConfigMap) { remote.Data = map[string]string{"theirs": "drifted"} },
		Hostile: func(remote *corev1.ConfigMap, word string) {
			remote.Data[word], remote.Data[key] = word, word
			hostileMeta(remote, word)
		},
	}
}
