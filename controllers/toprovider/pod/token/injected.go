package token

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
)

// IsInjected reports whether a volume is the service account token that admission injects. It
// checks the name, and that the volume has nothing else. To leave out something that a user wrote would
// silently break the pod.
func IsInjected(v *corev1.Volume) bool {
	if !strings.HasPrefix(v.Name, "kube-api-access-") || v.Projected == nil {
		return false
	}
	token := false
	for i := range v.Projected.Sources {
		s := &v.Projected.Sources[i]
		switch {
		case s.ServiceAccountToken != nil:
			token = true
		case s.ConfigMap != nil && s.ConfigMap.Name == field.RootCertificate:
		case s.DownwardAPI != nil:
		default:
			return false
		}
	}
	return token
}

// Withheld says that the pod lacks its token, if the pod probably uses one. Otherwise it returns
// "". Kubernetes injects a token into nearly every pod, but few pods use it. A pod that does has an
// account other than default, which has no rights, or asks for a token explicitly.
func Withheld(pod *corev1.Pod) string {
	account := cmp.Or(pod.Spec.ServiceAccountName, "default")
	if account == "default" && !ptr.Deref(pod.Spec.AutomountServiceAccountToken, false) || len(Injected(pod.Spec.Volumes)) == 0 {
		return ""
	}
	return "the token of ServiceAccount " + account + " is not sent, so the pod has none in /var/run/secrets/kubernetes.io/serviceaccount and cannot use the Kubernetes API; " +
		"if it needs the API, keep it on the consumer's own nodes; otherwise set automountServiceAccountToken to false"
}

// Injected returns the names of the volumes that are injected tokens.
func Injected(volumes []corev1.Volume) []string {
	var names []string
	for i := range volumes {
		if IsInjected(&volumes[i]) {
			names = append(names, volumes[i].Name)
		}
	}
	return names
}

// WithoutMounts returns the mounts, except mounts of the given volumes.
func WithoutMounts(mounts []corev1.VolumeMount, volumes []string) []corev1.VolumeMount {
	if !slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return slices.Contains(volumes, m.Name) }) {
		return mounts
	}
	kept := make([]corev1.VolumeMount, 0, len(mounts)-1)
	for i := range mounts {
		if !slices.Contains(volumes, mounts[i].Name) {
			kept = append(kept, mounts[i])
		}
	}
	return kept
}
