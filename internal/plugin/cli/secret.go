package cli

import corev1 "k8s.io/api/core/v1"

// LabelManagedBy is on the Secrets that the plugin has made, with the value Owner: the plugin
// deletes these again.
const LabelManagedBy = "app.kubernetes.io/managed-by"

// SecretName is that of the kubeconfig of a binding that names none.
func SecretName(binding string) string { return binding + "-kubeconfig" }

// Made reports whether the plugin has made a Secret.
func Made(secret *corev1.Secret) bool { return secret.Labels[LabelManagedBy] == Owner }
