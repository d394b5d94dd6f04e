package bind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provider "github.com/spillway-io/spillway/config/provider"
	"github.com/spillway-io/spillway/internal/fleet/kubeconfig"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// lifetime is that of the tokens that are asked for. They are renewed when half of it is
// left.
const lifetime = time.Hour

// access is a cluster, as the cloud's identity, for as long as it takes to get a token.
type access struct {
	client  client.Client
	close   func()
	at      cloud.Connection
	objects []*unstructured.Unstructured // Of config/provider.
}

// open makes the clients. What the cloud says of where the cluster is passes the same checks
// as a user's kubeconfig, since it becomes one.
func open(at cloud.Connection) (*access, error) {
	document, err := write(at.Host, at.CA, &clientcmdapi.AuthInfo{Token: at.Token, ClientCertificateData: at.Cert, ClientKeyData: at.Key})
	if err != nil {
		return nil, err
	}
	config, err := kubeconfig.Load(document)
	if err != nil {
		return nil, fmt.Errorf("what the cloud says of the cluster cannot be used: %w", err)
	}
	objects, err := provider.Objects()
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of a provider: %w", err)
	}
	httpClient, err := transport.HTTPClient(config, transport.Options{})
	if err != nil {
		return nil, err
	}
	c, err := client.New(&rest.Config{Host: config.Host, QPS: -1}, client.Options{HTTPClient: httpClient, Scheme: scheme.Scheme, Mapper: mapper(objects)})
	if err != nil {
		transport.Close(httpClient)
		return nil, explained("connecting to the cluster", err)
	}
	return &access{client: c, close: func() { transport.Close(httpClient) }, at: at, objects: objects}, nil
}

// mapper knows the kinds of objects, so that nothing has to be discovered.
func mapper(objects []*unstructured.Unstructured) meta.RESTMapper {
	known := meta.NewDefaultRESTMapper(nil)
	for _, object := range objects {
		scope := meta.RESTScopeRoot
		if object.GetNamespace() != "" {
			scope = meta.RESTScopeNamespace
		}
		known.Add(object.GroupVersionKind(), scope)
	}
	return known
}

// prepare applies what a provider needs. What its administrator allows beyond that is theirs,
// and only made if it is missing. Rights that may be left out are given when all of it is
// applied for the first time; from then on, those that are missing were taken away. The
// consumer's first right comes last, so that it marks a first time that was not broken off.
func (a *access) prepare(ctx context.Context) error {
	first, err := a.missing(ctx, a.objects[a.mark()])
	if err != nil {
		return err
	}
	objects := slices.Delete(slices.Clone(a.objects), a.mark(), a.mark()+1)
	for _, object := range append(objects, a.objects[a.mark()]) {
		if !first && provider.Optional(object) {
			left, err := a.missing(ctx, object)
			if err != nil {
				return err
			}
			if left {
				continue
			}
		}
		what := object.GetKind() + " " + object.GetName()
		if object.GetKind() == "ConfigMap" && object.GetName() == provider.Limits {
			err = client.IgnoreAlreadyExists(a.client.Create(ctx, object))
		} else {
			err = a.apply(ctx, object)
		}
		if err != nil {
			return explained("applying "+what, err)
		}
	}
	return nil
}

// mark is the binding of the role without which nothing works.
func (a *access) mark() int {
	return slices.IndexFunc(a.objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ClusterRoleBinding" && o.GetName() == provider.Account
	})
}

// missing tells whether the cluster does not have an object.
func (a *access) missing(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(object.GroupVersionKind())
	err := a.client.Get(ctx, client.ObjectKeyFromObject(object), there)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, explained("reading "+object.GetKind()+" "+object.GetName(), err)
	}
	return err != nil, nil
}

func (a *access) apply(ctx context.Context, object *unstructured.Unstructured) error {
	return a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(name), client.ForceOwnership)
}

// token asks for one of the consumer's account, and says when it is to be renewed.
func (a *access) token(ctx context.Context, now time.Time) (token string, renew time.Time, err error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: provider.Namespace, Name: provider.Account}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(lifetime / time.Second))}}
	if err := a.client.SubResource("token").Create(ctx, account, request); err != nil {
		return "", renew, explained("asking for a token of ServiceAccount "+provider.Namespace+"/"+provider.Account, err)
	}
	// A clock that is wrong must not make the token be renewed all the time, or too late.
	valid := min(max(request.Status.ExpirationTimestamp.Sub(now), lifetime/6), lifetime)
	return request.Status.Token, now.Add(valid / 2).UTC().Truncate(time.Second), nil
}

// kubeconfig is that of the consumer.
func (a *access) kubeconfig(token string) ([]byte, error) {
	return write(a.at.Host, a.at.CA, &clientcmdapi.AuthInfo{Token: token})
}

// prepared is a digest of what was applied, and of where.
func (a *access) prepared(manifests string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", a.at.Host, a.at.CA))
	return manifests + "." + hex.EncodeToString(sum[:])
}

// manifestsOf is the first half of what prepared returns.
func manifestsOf(prepared string) string {
	manifests, _, _ := strings.Cut(prepared, ".")
	return manifests
}

func write(host string, ca []byte, user *clientcmdapi.AuthInfo) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: host, CertificateAuthorityData: ca}
	config.AuthInfos[name] = user
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// explained words an error of the cluster in the same way each time, without credentials.
func explained(doing string, err error) error {
	if reason := apierrors.ReasonForError(err); apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return fmt.Errorf("%s: %s: %w", doing, reason, err)
	}
	_, message := transport.Classify(err)
	return fmt.Errorf("%s: %s", doing, message)
}
