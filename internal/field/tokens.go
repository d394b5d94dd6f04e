package field

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// tokenSecretPrefix begins the names of the Secrets with API tokens in a provider. Spillway sends no Secret of
// such a name, and no pod that names one: the pod would read the tokens of another pod.
const tokenSecretPrefix = "spillway-token-"

// TokenSecretName returns the name of the Secret in the provider that has the API tokens of the pod with that
// UID.
func TokenSecretName(pod types.UID) string { return tokenSecretPrefix + string(pod) }

// IsTokenSecretName reports whether a Secret of that name has API tokens, or would look so.
func IsTokenSecretName(name string) bool { return strings.HasPrefix(name, tokenSecretPrefix) }

// IsTokenSecret reports whether a remote object is a Secret with API tokens. It represents no local object.
func IsTokenSecret(obj metav1.Object) bool {
	_, secret := obj.(*corev1.Secret)
	return secret && IsTokenSecretName(obj.GetName())
}

// ConsumerAPI says which pods use the consumer's API from a provider, and where they reach it. With the zero
// value, none do.
type ConsumerAPI struct {
	// Endpoint is where they reach it, or nil if the ClusterBinding does not say.
	Endpoint *v1alpha1.ConsumerAPI
	// Invalid says why they cannot use Endpoint; "" if that is not known.
	Invalid string
	// Lists reports whether the offloading of a namespace lists a ServiceAccount.
	Lists func(namespace, account string) bool
}

// Grants reports whether the pods of a ServiceAccount get API tokens.
func (a ConsumerAPI) Grants(namespace, account string) bool {
	return a.Lists != nil && a.Lists(namespace, account)
}
