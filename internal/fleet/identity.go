package fleet

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// identity is the UID of the provider's kube-system namespace, by which clusters are
// distinguished. One request proves that the provider answers, is the right one, and
// accepts the credentials. The UID counts only together with the authority that vouches
// for the server.
func (r *remote) identity(ctx context.Context) (uid, authority string, err error) {
	uid, err = identityOf(transport.WithAuthority(ctx, func(of string) { authority = of }), r.live)
	return uid, authority, err
}

func identityOf(ctx context.Context, live client.Reader) (string, error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", err
	}
	if namespace.UID == "" {
		return "", errNotUsable{v1alpha1.ReasonUnreachable, "the provider's kube-system namespace has no UID: this is no Kubernetes cluster"}
	}
	return string(namespace.UID), nil
}

func (r *remote) version(ctx context.Context) (string, error) {
	data, err := r.discovery.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var info version.Info
	if err := json.Unmarshal(data, &info); err != nil {
		return "", errNotUsable{v1alpha1.ReasonUnreachable, "the provider does not say its version: this is no Kubernetes cluster"}
	}
	return cleanVersion(info.GitVersion), nil
}

// cleanVersion keeps the characters that versions may have (see https://semver.org), up
// to the length of the API field, since the version goes into statuses.
func cleanVersion(said string) string {
	const most = 64
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".+-", r)) {
			return r
		}
		return -1
	}, said)
	return clean[:min(len(clean), most)]
}
