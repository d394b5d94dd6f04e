package kubelet

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// The answers of the consumer's API server are cached for that long. An expired token, or a right that was
// removed, stays valid for up to that long.
const (
	remembered    = 10 * time.Second
	reviewTimeout = 10 * time.Second
)

// The ConfigMap in which each Kubernetes cluster publishes the authority for the certificates of its users
// and components.
const (
	authenticationConfigMap = "extension-apiserver-authentication"
	clientAuthority         = "client-ca-file"
)

// clientCA is a certificate authority that may change, and whose content is watched.
type clientCA interface {
	dynamiccertificates.CAContentProvider
	dynamiccertificates.ControllerRunner
}

// newClientCA returns the authority of client certificates, from a file, or else from the consumer.
func newClientCA(file string, clients kubernetes.Interface) (clientCA, error) {
	if file != "" {
		return dynamiccertificates.NewDynamicCAContentFromFile("kubelet-client-ca", file)
	}
	return dynamiccertificates.NewDynamicCAFromConfigMapController("kubelet-client-ca", metav1.NamespaceSystem, authenticationConfigMap, clientAuthority, clients)
}

// delegated asks the consumer's API server.
type delegated struct {
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
}

// The limits of a kubelet: how many reviews it requests per second, and how many at once.
const (
	reviewsQPS   = 50
	reviewsBurst = 100
)

// reviews asks the consumer who somebody is, and what they may do. Each of these two has its own limit.
// Somebody who floods the port with tokens only delays others who show tokens. API servers show certificates,
// and the rest of the manager has other limits.
type reviews struct {
	tokens authenticationv1.AuthenticationV1Interface
	access authorizationv1.AuthorizationV1Interface
}

func newReviews(config *rest.Config) (reviews, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst, config.RateLimiter = reviewsQPS, reviewsBurst, nil
	tokens, err := authenticationv1.NewForConfig(config)
	if err != nil {
		return reviews{}, fmt.Errorf("a client for reviews of tokens: %w", err)
	}
	access, err := authorizationv1.NewForConfig(config)
	if err != nil {
		return reviews{}, fmt.Errorf("a client for reviews of access: %w", err)
	}
	return reviews{tokens, access}, nil
}

// newDelegated authenticates by certificates of that authority, and by tokens for the consumer's API server.
// It trusts no headers, and allows no anonymous requests.
func newDelegated(authority dynamiccertificates.CAContentProvider, ask reviews) (*delegated, error) {
	retry := &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3}
	authenticator, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: ask.tokens, TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff: retry, CacheTTL: remembered, ClientCertificateCAContentProvider: authority,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authenticating for the kubelet API: %w", err)
	}
	authorizer, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: ask.access, AllowCacheTTL: remembered, DenyCacheTTL: remembered, WebhookRetryBackoff: retry,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("authorising for the kubelet API: %w", err)
	}
	return &delegated{authenticator, authorizer}, nil
}

// Authenticate implements Access.
func (d *delegated) Authenticate(r *http.Request) (user.Info, bool, error) {
	response, known, err := d.authenticator.AuthenticateRequest(r)
	if err != nil || !known {
		return nil, false, err
	}
	return response.User, true, nil
}

// Authorize implements Access. It needs the same permissions as a kubelet.
func (d *delegated) Authorize(ctx context.Context, who user.Info, what Permission) (allowed bool, why string, err error) {
	decision, why, err := d.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: who, Verb: what.Verb, APIVersion: "v1", Resource: "nodes", Subresource: what.Subresource, Name: what.Node, ResourceRequest: true, Path: what.Path,
	})
	return decision == authorizer.DecisionAllow, why, err
}
