package translate

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// rootCertificate is the ConfigMap with the API server's certificate that
// Kubernetes puts into every namespace.
const rootCertificate = "kube-root-ca.crt"

// isInjectedToken reports whether a volume is the service account token that admission
// injects: by its name, and by having nothing else in it, because leaving out what a
// user has written would break the pod silently.
func isInjectedToken(v *corev1.Volume) bool {
	if !strings.HasPrefix(v.Name, "kube-api-access-") || v.Projected == nil {
		return false
	}
	token := false
	for i := range v.Projected.Sources {
		s := &v.Projected.Sources[i]
		switch {
		case s.ServiceAccountToken != nil:
			token = true
		case s.ConfigMap != nil && s.ConfigMap.Name == rootCertificate:
		case s.DownwardAPI != nil:
		default:
			return false
		}
	}
	return token
}

// WithheldToken says that the pod lacks its token, if that may be missed. Kubernetes
// gives one to nearly every pod, and few use it: one that does has an account of its own,
// since that of the namespace may do nothing, or asks for a token itself.
func WithheldToken(pod *corev1.Pod) string {
	account := cmp.Or(pod.Spec.ServiceAccountName, "default")
	if account == "default" && !ptr.Deref(pod.Spec.AutomountServiceAccountToken, false) || len(injectedTokens(pod.Spec.Volumes)) == 0 {
		return ""
	}
	return "the token of ServiceAccount " + account + ": no token goes to a provider, so the pod finds none in /var/run/secrets/kubernetes.io/serviceaccount, and cannot use the Kubernetes API; " +
		"if it has to, keep it on the consumer's own nodes, else set automountServiceAccountToken to false"
}

// injectedTokens are the names of the volumes for which isInjectedToken holds.
func injectedTokens(volumes []corev1.Volume) []string {
	var names []string
	for i := range volumes {
		if isInjectedToken(&volumes[i]) {
			names = append(names, volumes[i].Name)
		}
	}
	return names
}

// withoutMounts drops the mounts of some volumes.
func withoutMounts(mounts []corev1.VolumeMount, volumes []string) []corev1.VolumeMount {
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
