package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/transport"
	"github.com/spillway-io/spillway/internal/scheme"
)

// clients ask a provider which cluster it is, and under which account it knows the manager.
type clients struct {
	config *rest.Config
	http   *http.Client
	live   client.Reader
}

// newClients creates clients with their own connections.
func newClients(config *rest.Config, options transport.Options, mapper func() (meta.RESTMapper, error)) (*clients, error) {
	httpClient, err := transport.HTTPClient(config, options)
	if err != nil {
		return nil, err
	}
	known, err := mapper()
	var live client.Client
	if err == nil {
		live, err = client.New(config, client.Options{HTTPClient: httpClient, Mapper: known, Scheme: scheme.Scheme})
	}
	if err != nil {
		transport.Close(httpClient)
		return nil, err
	}
	return &clients{config, httpClient, live}, nil
}

func (c *clients) close() { transport.Close(c.http) }

// identity asks for the UID of the provider's kube-system namespace, which distinguishes clusters, and for the
// authority that vouches for the server. The UID counts only together with that authority. One request proves
// that the provider answers, is the right one, and accepts the credentials.
func (c *clients) identity(ctx context.Context) (uid, authority string, err error) {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	ctx = transport.WithAuthority(ctx, func(of string) { authority = of })
	if err := c.live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", "", err
	}
	if namespace.UID == "" {
		return "", "", errNotUsable{v1alpha1.ReasonUnreachable, "the provider's kube-system namespace has no UID: this is not a Kubernetes cluster"}
	}
	return string(namespace.UID), authority, nil
}

// version asks for the version of the provider.
func (c *clients) version(ctx context.Context) (string, error) {
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return "", err
	}
	data, err := discover.RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var info version.Info
	if err := json.Unmarshal(data, &info); err != nil {
		return "", errNotUsable{v1alpha1.ReasonUnreachable, "the provider does not report its version: this is not a Kubernetes cluster"}
	}
	return cleanVersion(info.GitVersion), nil
}

// whoami asks for the name of the manager's account. Every authenticated account may ask that by default. If it
// may not, or the API is not served, the result is empty: policies that confine the account then refuse every
// creation, and say why.
func (c *clients) whoami(ctx context.Context) (authenticationv1.UserInfo, error) {
	nobody := authenticationv1.UserInfo{}
	authentication, err := authenticationclient.NewForConfigAndClient(c.config, c.http)
	if err != nil {
		return nobody, err
	}
	review, err := authentication.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nobody, nil
	}
	if err != nil {
		return nobody, err
	}
	return review.Status.UserInfo, nil
}

// identify asks the provider once for its identity.
func (s *session) identify(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, s.options.ProbeTimeout)
	defer cancel()
	uid, authority, ahead, err := s.whoAndWhen(bounded)
	if err != nil {
		return err
	}
	version, err := s.clients.version(bounded)
	if err != nil {
		return err
	}
	s.user, err = s.clients.whoami(transport.WithoutFence(bounded))
	if err != nil {
		return err
	}
	s.provider.Account = provenance.Account(s.user.Username)
	s.provider.Streams.Identity = uid + " " + cmp.Or(s.user.Username, s.credentials.now().Fingerprint)
	if err := s.verify(uid); err != nil {
		return err
	}
	s.report.update(ctx, func(state *State) {
		state.UID, state.Authority, state.Version, state.ClockSkew, state.LastContact, state.Untried = uid, authority, version, ahead, s.options.Clock.Now(), false
	})
	return nil
}

// whoAndWhen asks for the identity of the provider, and compares its clock with the manager's.
func (s *session) whoAndWhen(ctx context.Context) (uid, authority string, ahead time.Duration, err error) {
	asked := s.options.Clock.Now()
	ctx = transport.WithDate(ctx, func(date time.Time) { ahead = connection.ClockSkew(date, asked, s.options.Clock.Now()) })
	uid, authority, err = s.clients.identity(ctx)
	return uid, authority, ahead, err
}

// probe checks that the provider answers, accepts the credentials, and is still the same cluster.
func (s *session) probe(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, s.options.ProbeTimeout)
	defer cancel()
	uid, authority, ahead, err := s.whoAndWhen(bounded)
	if err != nil {
		return err
	}
	if err := s.verify(uid); err != nil {
		return err
	}
	s.report.update(ctx, func(state *State) {
		state.Authority, state.ClockSkew, state.LastContact = authority, ahead, s.options.Clock.Now()
	})
	return nil
}

// recognise returns a function that asks, over a separate connection, whether the provider is still the bound
// cluster, and ends the session if not. The function is called whenever a connection has broken. The next probe
// would come too late: in another cluster, all remote objects would be missing, and Spillway would create them. It
// does not hold the session: net/http keeps a closed connection, and so the function, for another 90 s.
//
// also, if set, is called with the separate connection if the cluster is still the bound one.
func (l *link) recognise(options transport.Options, end func(error), also func(context.Context, *clients)) func(context.Context) error {
	return func(ctx context.Context) error {
		apart, err := newClients(l.credentials.now().Config, options, l.options.mapper)
		if err != nil {
			return err
		}
		defer apart.close()
		ctx, cancel := context.WithTimeout(ctx, l.options.ProbeTimeout)
		defer cancel()
		uid, _, err := apart.identity(ctx)
		if err == nil {
			err = l.verify(uid)
		}
		if err == nil && also != nil {
			also(ctx, apart)
		}
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			// It must not look like the answer to the request that needs the connection.
			reason, message := transport.Classify(err)
			err = errNotUsable{reason, message}
		}
		if isRefused(err) {
			end(err)
		}
		return err
	}
}

// noteVersion asks for the version of the provider once more. A connection breaks when the API server starts again, so this
// notices an upgrade that no probe has failed for. If there is no answer, the last known version stays.
func (l *link) noteVersion(ctx context.Context, from *clients) {
	if version, err := from.version(ctx); err == nil {
		l.report.update(ctx, func(state *State) { state.Version = version })
	}
}

// cleanVersion keeps the characters that versions may have (see https://semver.org), up to the
// length of the API field, since the version goes into statuses.
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

// mapperOf returns a mapper that knows the watched kinds, Leases, and ConfigMaps (for the limits), so that
// nothing is discovered. Discovery costs requests, and blocks on a hanging provider.
func mapperOf(kinds []Kind) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion})
	for _, kind := range append(allKinds(kinds), Kind{Object: &coordinationv1.Lease{}}, Kind{Object: &corev1.ConfigMap{}}) {
		gvk, err := apiutil.GVKForObject(kind.Object, scheme.Scheme)
		if err != nil {
			return nil, fmt.Errorf("the kind of %T: %w", kind.Object, err)
		}
		scope := meta.RESTScopeNamespace
		if kind.ClusterScoped {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(gvk, scope)
	}
	return mapper, nil
}
