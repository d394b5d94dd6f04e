package samples

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secret is a Secret that a pod mounts.
func secret(namespace, name, node string) Sample[*corev1.Secret] {
	return Sample[*corev1.Secret]{
		Object: &corev1.Secret{ObjectMeta: meta(namespace, name), Data: map[string][]byte{key: []byte("created")}},
		With: []client.Object{newPod(namespace, name, node, corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: name},
		})},
		Shows: func(s *corev1.Secret) string {
			text := string(s.Type) + "," + s.Labels[label]
			for _, k := range slices.Sorted(maps.Keys(s.Data)) {
				text += "," + k + "=" + string(s.Data[k])
			}
			return text
		},
		Change: func(local *corev1.Secret) {
			local.Data[key], local.Labels[label] = []byte("changed"), "changed"
		},
		Drift: func(remote *corev1.Secret) { remote.Data = map[string][]byte{"theirs": []byte("drifted")} },
		Hostile: func(remote *corev1.Secret, word string) {
			remote.Data[word], remote.Data[key] = []byte(word), []byte(word)
			hostileMeta(remote, word)
		},
	}
}
