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

	"github.com/spillway-io/spillway/config"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// lifetime is the lifetime of the tokens that are requested. They are renewed when half of it has passed.
const lifetime = time.Hour

// answersWithin is how long one request to the cluster may take. A cluster that does not answer at all holds up
// others of its account no longer than that.
const answersWithin = 15 * time.Second

// access is a connection to the cluster with the cloud's identity. It lasts as long as it takes to get a token.
type access struct {
	client  client.Client
	close   func()
	at      cloud.Connection
	objects []*unstructured.Unstructured // The manifests of config/provider.
}

// open creates the client. It checks the address that the cloud returns like a user's kubeconfig, because it
// becomes one.
func open(at cloud.Connection) (*access, error) {
	document, err := write(at.Host, at.CA, &clientcmdapi.AuthInfo{Token: at.Token, ClientCertificateData: at.Cert, ClientKeyData: at.Key})
	if err != nil {
		return nil, err
	}
	loaded, err := kubeconfig.Load(document)
	if err != nil {
		return nil, fmt.Errorf("the cloud's data about the cluster is invalid: %w", err)
	}
	objects, err := config.Objects("provider")
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of a provider: %w", err)
	}
	httpClient, err := transport.HTTPClient(loaded, transport.Options{})
	if err != nil {
		return nil, err
	}
	httpClient.Timeout = answersWithin
	c, err := client.New(&rest.Config{Host: loaded.Host, QPS: -1}, client.Options{HTTPClient: httpClient, Scheme: scheme.Scheme, Mapper: mapper(objects)})
	if err != nil {
		transport.Close(httpClient)
		return nil, explained("connecting to the cluster", err)
	}
	return &access{client: c, close: func() { transport.Close(httpClient) }, at: at, objects: objects}, nil
}

// mapper knows the kinds of the objects, so the client needs no discovery.
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

// prepare applies what a provider needs. Optional rights belong to the provider's administrator. prepare
// creates them the first time only: it does not restore rights that the administrator has removed.
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

// prepareFor prepares the cluster unless it is prepared already, and returns the annotation to store. With Keep
// it applies nothing, and fails if the address or the authority has changed.
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

// errMoved: nobody has read the cluster since its address changed, so it may be another cluster.
var errMoved = errors.New("the cloud reports a new address or certificate authority, which is used once the cluster has been read")

// missing reports whether the cluster lacks an object.
func (a *access) missing(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(object.GroupVersionKind())
	err := a.client.Get(ctx, client.ObjectKeyFromObject(object), there)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, explained("reading "+object.GetKind()+" "+object.GetName(), err)
	}
	return err != nil, nil
}

// token requests a token of the consumer's account, and returns the time at which to renew it.
func (a *access) token(ctx context.Context, now time.Time) (token string, renew time.Time, err error) {
	token, expires, err := account.Token(ctx, a.client, config.ProviderAccount, lifetime)
	if err != nil {
		return "", renew, explained("asking for a token of ServiceAccount "+config.ProviderNamespace+"/"+config.ProviderAccount, err)
	}
	// A wrong clock must not make us renew the token all the time, or too late.
	valid := min(max(expires.Sub(now), lifetime/6), lifetime)
	return token, now.Add(valid / 2).UTC().Truncate(time.Second), nil
}

// kubeconfig returns the kubeconfig for the consumer.
func (a *access) kubeconfig(token string) ([]byte, error) {
	return write(a.at.Host, a.at.CA, &clientcmdapi.AuthInfo{Token: token})
}

// prepared returns a digest of the manifests and of the cluster's address and authority.
func (a *access) prepared(manifests string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", a.at.Host, a.at.CA))
	return manifests + "." + hex.EncodeToString(sum[:])
}

// parts splits what prepared returns into its two digests.
func parts(prepared string) (manifests, place string) {
	manifests, place, _ = strings.Cut(prepared, ".")
	return manifests, place
}

func write(host string, ca []byte, user *clientcmdapi.AuthInfo) ([]byte, error) {
	return account.Kubeconfig(name, clientcmdapi.Cluster{Server: host, CertificateAuthorityData: ca}, *user)
}

// explained describes an error of the cluster, always in the same words and without credentials.
func explained(doing string, err error) error {
	if reason := apierrors.ReasonForError(err); apierrors.IsInvalid(err) || apierrors.IsConflict(err) {
		return fmt.Errorf("%s: %s: %w", doing, reason, err)
	}
	_, message := transport.Classify(err)
	return fmt.Errorf("%s: %s", doing, message)
}
