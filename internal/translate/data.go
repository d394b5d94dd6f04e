package translate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// secretTypeBootstrapToken is the type of Secrets with tokens that join nodes to a cluster. k8s.io/api
// has no constant for it.
const secretTypeBootstrapToken corev1.SecretType = "bootstrap.kubernetes.io/token"

// ConfigMap returns the remote ConfigMap of local.
func ConfigMap(local *corev1.ConfigMap, t Target) (*corev1.ConfigMap, *field.Problem) {
	if local.Name == rootCertificate {
		return nil, field.Refuse(ReasonEveryNamespaceHasOne, "ConfigMap %s: each namespace in the provider has its own, with another certificate", local.Name)
	}
	if refusal := neverSynced("ConfigMap", local); refusal != nil {
		return nil, refusal
	}
	allowed := configMapPlan.allowed(local)
	remote := allowed.DeepCopy()
	remote.ObjectMeta = Metadata(local, t)
	return remote, nil
}

// Secret returns the remote Secret of local. It refuses Secrets that give access to the consumer's API
// server.
func Secret(local *corev1.Secret, t Target) (*corev1.Secret, *field.Problem) {
	if local.Type == corev1.SecretTypeServiceAccountToken || local.Type == secretTypeBootstrapToken {
		return nil, field.Refuse(ReasonCredentials, "Secret %s has type %s: it gives access to the consumer's API server", local.Name, local.Type)
	}
	if refusal := neverSynced("Secret", local); refusal != nil {
		return nil, refusal
	}
	allowed := secretPlan.allowed(local)
	remote := allowed.DeepCopy()
	remote.ObjectMeta = Metadata(local, t)
	return remote, nil
}

// neverSynced refuses an object whose owner marked it to stay in the consumer.
func neverSynced(kind string, local metav1.Object) *field.Problem {
	if local.GetLabels()[v1alpha1.LabelSync] != v1alpha1.SyncNever && local.GetAnnotations()[v1alpha1.LabelSync] != v1alpha1.SyncNever {
		return nil
	}
	return field.Refuse(ReasonSyncNever, "%s %s has %s=%s", kind, local.GetName(), v1alpha1.LabelSync, v1alpha1.SyncNever)
}
