package secret

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// secretTypeBootstrapToken is the type of Secrets with tokens that join nodes to a cluster. k8s.io/api
// has no constant for it.
const secretTypeBootstrapToken corev1.SecretType = "bootstrap.kubernetes.io/token"

// toRemote returns the remote Secret of local. It refuses Secrets that give access to the consumer's API
// server.
func toRemote(local *corev1.Secret, t field.Target) (*corev1.Secret, *field.Problem) {
	if local.Type == corev1.SecretTypeServiceAccountToken || local.Type == secretTypeBootstrapToken {
		return nil, field.Refuse(field.ReasonCredentials, "Secret %s has type %s: it gives access to the consumer's API server", local.Name, local.Type)
	}
	if field.IsTokenSecretName(local.Name) {
		return nil, field.Refuse(field.ReasonCredentials, "Secret %s has a name that Spillway uses for the API tokens of pods in the provider", local.Name)
	}
	if refusal := field.NeverSynced("Secret", local); refusal != nil {
		return nil, refusal
	}
	allowed := secretPlan.Allowed(local)
	remote := allowed.DeepCopy()
	remote.ObjectMeta = field.Metadata(local, t)
	return remote, nil
}
