// Package account creates the account with which a consumer uses a provider: the objects that the provider's
// administrator applies, a token, and the kubeconfig with it. The operator of hosted clusters and kubectl
// spillway use it.
package account

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
)

// IsLimits reports whether an object is the ConfigMap that belongs to the provider's administrator.
func IsLimits(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().Kind == "ConfigMap" &&
		object.GetNamespace() == config.ProviderNamespace && object.GetName() == config.Limits
}

// optional lists the roles that an administrator may leave out. Their bindings have the same names.
var optional = []string{
	config.ProviderAccount + "-logs", config.ProviderAccount + "-exec", config.ProviderAccount + "-metrics", config.ProviderAccount + "-poddisruptionbudgets",
}

// IsOptional reports whether a provider works without the object. Its administrator may leave the object out,
// by deleting it.
func IsOptional(object client.Object) bool {
	return slices.Contains(optional, object.GetName()) && strings.HasPrefix(object.GetObjectKind().GroupVersionKind().Kind, "ClusterRole")
}

// Apply applies an object of a provider. It creates the limits only if they are missing, because they belong
// to the administrator.
func Apply(ctx context.Context, c client.Client, object *unstructured.Unstructured, owner string, options ...client.ApplyOption) error {
	if IsLimits(object) {
		err := c.Create(ctx, object, client.FieldOwner(owner))
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), append(options, client.FieldOwner(owner))...)
}

// isMark reports whether an object is the binding of the role without which nothing works.
func isMark(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().Kind == "ClusterRoleBinding" && object.GetName() == config.ProviderAccount
}

// InOrder returns the objects of a provider in the order in which they are applied. The binding of the
// consumer's basic role comes last, so it shows that the first run was complete. A deletion begins with it.
func InOrder[T client.Object](objects []T) []T {
	marks := slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return !isMark(object) })
	return append(slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return isMark(object) }), marks...)
}

// Due returns the objects of a provider that must be applied, in order. When all of them are applied for the
// first time, Due includes optional rights. Later, a missing optional right was deleted by the provider's
// administrator, so Due leaves it out. missing reports whether the provider lacks an object.
func Due[T client.Object](ctx context.Context, objects []T, missing func(context.Context, T) (bool, error)) ([]T, error) {
	first := true
	var due []T
	for _, object := range objects {
		if !isMark(object) {
			continue
		}
		var err error
		if first, err = missing(ctx, object); err != nil {
			return nil, err
		}
	}
	for _, object := range InOrder(objects) {
		if !first && IsOptional(object) {
			left, err := missing(ctx, object)
			if err != nil {
				return nil, err
			}
			if left {
				continue
			}
		}
		due = append(due, object)
	}
	return due, nil
}

// Of returns the name and UID of a token's account, a ServiceAccount in a provider's namespace for consumers.
// The UID is empty if the token does not have it. Of does not verify the token. It fails for tokens of other
// users.
func Of(token string) (name string, uid types.UID, err error) {
	var claims struct {
		Subject    string `json:"sub"`
		Kubernetes struct {
			Account struct {
				UID types.UID `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", errors.New("its token is not one of a ServiceAccount")
	}
	content, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(content, &claims)
	}
	if err != nil {
		return "", "", fmt.Errorf("its token is not one of a ServiceAccount: %w", err)
	}
	namespace, name, err := serviceaccount.SplitUsername(claims.Subject)
	if err != nil || namespace != config.ProviderNamespace {
		return "", "", fmt.Errorf("its token is of %q, which is no ServiceAccount in namespace %s", claims.Subject, config.ProviderNamespace)
	}
	return name, claims.Kubernetes.Account.UID, nil
}

// Token requests a token of a ServiceAccount for consumers. The API server may grant a shorter or a longer
// lifetime.
func Token(ctx context.Context, c client.Client, name string, lifetime time.Duration) (token string, expires time.Time, err error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.ProviderNamespace, Name: name}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(lifetime / time.Second))}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return "", expires, err
	}
	return request.Status.Token, request.Status.ExpirationTimestamp.Time, nil
}

// Kubeconfig returns a kubeconfig with only what the manager accepts: the cluster and the user. name is the
// name of its only context.
func Kubeconfig(name string, cluster clientcmdapi.Cluster, user clientcmdapi.AuthInfo) ([]byte, error) {
	document := clientcmdapi.NewConfig()
	document.Clusters[name] = &clientcmdapi.Cluster{
		Server: cluster.Server, CertificateAuthorityData: cluster.CertificateAuthorityData, TLSServerName: cluster.TLSServerName,
	}
	document.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token: user.Token, ClientCertificateData: user.ClientCertificateData, ClientKeyData: user.ClientKeyData,
	}
	document.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	document.CurrentContext = name
	return clientcmd.Write(*document)
}
