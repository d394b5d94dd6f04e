package secret

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// key is in the data of the sample.
const key = "key"

// sample is a Secret that a pod mounts.
func sample(namespace, name, node string) kind.Sample[*corev1.Secret] {
	return kind.Sample[*corev1.Secret]{
		Object: &corev1.Secret{ObjectMeta: kind.SampleMeta(namespace, name), Data: map[string][]byte{key: []byte("created")}},
		With: []decide.Object{kind.SamplePod(namespace, name, node, corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name},
		})},
		Shows: func(s *corev1.Secret) string {
			text := string(s.Type) + "," + s.Labels[kind.SampleLabel]
			for _, k := range slices.Sorted(maps.Keys(s.Data)) {
				text += "," + k + "=" + string(s.Data[k])
			}
			return text
		},
		Change: func(local *corev1.Secret) {
			local.Data[key], local.Labels[kind.SampleLabel] = []byte("changed"), "changed"
		},
		Drift: func(remote *corev1.Secret) { remote.Data = map[string][]byte{"theirs": []byte("drifted")} },
		Hostile: func(remote *corev1.Secret, word string) {
			remote.Data[word], remote.Data[key] = []byte(word), []byte(word)
			kind.HostileMeta(remote, word)
		},
	}
}
