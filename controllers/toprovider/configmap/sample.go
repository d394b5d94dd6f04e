package configmap

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// key is in the data of the sample.
const key = "key"

// sample is a ConfigMap that a pod mounts.
func sample(namespace, name, node string) kind.Sample[*corev1.ConfigMap] {
	return kind.Sample[*corev1.ConfigMap]{
		Object: &corev1.ConfigMap{ObjectMeta: kind.SampleMeta(namespace, name), Data: map[string]string{key: "created"}},
		With: []decide.Object{kind.SamplePod(namespace, name, node, corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		})},
		Shows: func(c *corev1.ConfigMap) string {
			text := c.Labels[kind.SampleLabel]
			for _, k := range slices.Sorted(maps.Keys(c.Data)) {
				text += "," + k + "=" + c.Data[k]
			}
			return text
		},
		Change: func(local *corev1.ConfigMap) { local.Data[key], local.Labels[kind.SampleLabel] = "changed", "changed" },
		Drift:  func(remote *corev1.ConfigMap) { remote.Data = map[string]string{"theirs": "drifted"} },
		Hostile: func(remote *corev1.ConfigMap, word string) {
			remote.Data[word], remote.Data[key] = word, word
			kind.HostileMeta(remote, word)
		},
	}
}
