package cli

import corev1 "k8s.io/api/core/v1"

// LabelManagedBy is a label of the Secrets that the plugin has created, with the value Owner. The plugin
// deletes only these.
const LabelManagedBy = "app.kubernetes.io/managed-by"

// SecretName returns the name of the Secret with the kubeconfig, for a binding that names none.
func SecretName(binding string) string { return binding + "-kubeconfig" }

// Made reports whether the plugin has created a Secret.
func Made(secret *corev1.Secret) bool { return secret.Labels[LabelManagedBy] == Owner }
