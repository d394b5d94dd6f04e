package configmap

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// toRemote returns the remote ConfigMap of local.
func toRemote(local *corev1.ConfigMap, t field.Target) (*corev1.ConfigMap, *field.Problem) {
	if local.Name == field.RootCertificate {
		return nil, field.Refuse(field.ReasonEveryNamespaceHasOne, "ConfigMap %s: each namespace in the provider has its own, with another certificate", local.Name)
	}
	if refusal := field.NeverSynced("ConfigMap", local); refusal != nil {
		return nil, refusal
	}
	allowed := configMapPlan.Allowed(local)
	remote := allowed.DeepCopy()
	remote.ObjectMeta = field.Metadata(local, t)
	return remote, nil
}
