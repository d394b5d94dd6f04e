package field

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// tokenSecretPrefix begins the names of the Secrets with API tokens in a provider. The UID of a pod follows.
const tokenSecretPrefix = "spillway-token-"

// podUID is the form of all UIDs that an API server gives to objects.
var podUID = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

// TokenSecretName returns the name of the Secret in the provider that has the API tokens of the pod with that
// UID.
func TokenSecretName(pod types.UID) string { return tokenSecretPrefix + string(pod) }

// IsTokenSecretName reports whether the API tokens of a pod may be in a Secret of that name. Spillway sends no such
// Secret of the consumer, and no pod that names one: the pod would read the tokens of another pod.
func IsTokenSecretName(name string) bool {
	uid, prefixed := strings.CutPrefix(name, tokenSecretPrefix)
	return prefixed && podUID.MatchString(uid)
}

// IsTokenSecret reports whether a remote object is a Secret with API tokens: it is named after the pod that
// it is for. Such a Secret represents no local object. The copy of a Secret is for that Secret, and nobody can name a
// Secret after its own UID.
func IsTokenSecret(obj metav1.Object) bool {
	_, secret := obj.(*corev1.Secret)
	uid := obj.GetAnnotations()[v1alpha1.AnnotationLocalUID]
	return secret && uid != "" && obj.GetName() == tokenSecretPrefix+uid
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
