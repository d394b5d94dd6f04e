package bind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hosted "github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
	"github.com/spillway-io/spillway/internal/provider/transport"
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
	loaded, err := kubeconfig.Load(document)
	if err != nil {
		return nil, fmt.Errorf("what the cloud says of the cluster cannot be used: %w", err)
	}
	objects, err := config.Objects("provider")
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of a provider: %w", err)
	}
	httpClient, err := transport.HTTPClient(loaded, transport.Options{})
	if err != nil {
		return nil, err
	}
	c, err := client.New(&rest.Config{Host: loaded.Host, QPS: -1}, client.Options{HTTPClient: httpClient, Scheme: scheme.Scheme, Mapper: mapper(objects)})
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
// and only made if it is missing; what they have taken away is not given again.
func (a *access) prepare(ctx context.Context) error {
	due, err := account.Due(ctx, a.objects, a.missing)
	if err != nil {
		return err
	}
	for _, object := range due {
		if err := account.Apply(ctx, a.client, object, name, client.ForceOwnership); err != nil {
			return explained("applying "+object.GetKind()+" "+object.GetName(), err)
		}
	}
	return nil
}

// prepareFor prepares the cluster if it is not yet, and returns what is noted of that. To
// keep a token, nothing is applied, and only in the cluster that it is of.
func (a *access) prepareFor(ctx context.Context, seen Seen) (string, error) {
	prepared, before := a.prepared(seen.Manifests), ""
	if seen.Secret != nil {
		before = seen.Secret.Annotations[hosted.AnnotationPrepared]
	}
	if prepared == before {
		return prepared, nil
	}
	if !seen.Keep {
		return prepared, a.prepare(ctx)
	}
	_, there := parts(prepared)
	if _, was := parts(before); was != there {
		return "", errMoved
	}
	return before, nil
}

// errMoved: nobody has read the cluster since, so it may be another one.
var errMoved = errors.New("the cloud names another address or certificate authority than before, which is used once the cluster has been read")

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

// token asks for one of the consumer's account, and says when it is to be renewed.
func (a *access) token(ctx context.Context, now time.Time) (token string, renew time.Time, err error) {
	token, expires, err := account.Token(ctx, a.client, config.ProviderAccount, lifetime)
	if err != nil {
		return "", renew, explained("asking for a token of ServiceAccount "+config.ProviderNamespace+"/"+config.ProviderAccount, err)
	}
	// A clock that is wrong must not make the token be renewed all the time, or too late.
	valid := min(max(expires.Sub(now), lifetime/6), lifetime)
	return token, now.Add(valid / 2).UTC().Truncate(time.Second), nil
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

// parts are the two digests in what prepared returns.
func parts(prepared string) (manifests, place string) {
	manifests, place, _ = strings.Cut(prepared, ".")
	return manifests, place
}

func write(host string, ca []byte, user *clientcmdapi.AuthInfo) ([]byte, error) {
	return account.Kubeconfig(name, clientcmdapi.Cluster{Server: host, CertificateAuthorityData: ca}, *user)
}

// explained words an error of the cluster in the same way each time, without credentials.
func explained(doing string, err error) error {
	if reason := apierrors.ReasonForError(err); apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return fmt.Errorf("%s: %s: %w", doing, reason, err)
	}
	_, message := transport.Classify(err)
	return fmt.Errorf("%s: %s", doing, message)
}
