package bind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

// Credentials are what the consumer uses a provider with.
type Credentials struct {
	// Document is the kubeconfig.
	Document []byte
	Expires  time.Time
}

// Ask requests a token of an account in the provider, and returns a kubeconfig with it.
func Ask(ctx context.Context, provider *cli.Cluster, at clientcmdapi.Cluster, name string, lifetime time.Duration) (*Credentials, error) {
	at, err := withAuthority(ctx, provider, at, config.ProviderNamespace)
	if err != nil {
		return nil, err
	}
	token, expires, err := account.Token(ctx, provider, name, lifetime)
	if err != nil {
		return nil, fmt.Errorf("asking %s for a token of ServiceAccount %s/%s: %w", provider.Name, config.ProviderNamespace, name, err)
	}
	document, err := document(at, token)
	if err != nil {
		return nil, err
	}
	return &Credentials{Document: document, Expires: expires}, nil
}

// document returns a kubeconfig with a token. It fails if the manager would refuse the kubeconfig.
func document(at clientcmdapi.Cluster, token string) ([]byte, error) {
	content, err := account.Kubeconfig("provider", at, clientcmdapi.AuthInfo{Token: token})
	if err != nil {
		return nil, err
	}
	if _, err := kubeconfig.Load(content); err != nil {
		return nil, fmt.Errorf("the manager would refuse a kubeconfig for %s: %w", at.Server, err)
	}
	return content, nil
}

// withAuthority adds the certificate authority if the kubeconfig has none. Kubernetes publishes it in every
// namespace, for the pods.
func withAuthority(ctx context.Context, provider *cli.Cluster, at clientcmdapi.Cluster, namespace string) (clientcmdapi.Cluster, error) {
	if len(at.CertificateAuthorityData) > 0 {
		return at, nil
	}
	root := &corev1.ConfigMap{}
	if err := provider.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "kube-root-ca.crt"}, root); err != nil {
		return at, fmt.Errorf("the kubeconfig has no certificate authority of %s, and ConfigMap %s/kube-root-ca.crt cannot be read: %w", provider.Name, namespace, err)
	}
	at.CertificateAuthorityData = []byte(root.Data["ca.crt"])
	return at, nil
}

// shortest is the shortest lifetime for which an API server grants a token.
const shortest = 10 * time.Minute

// CheckLifetime refuses a lifetime that no API server grants.
func CheckLifetime(lifetime time.Duration) error {
	if lifetime < shortest {
		return fmt.Errorf("--duration %s: the API server requires at least %s", lifetime, shortest)
	}
	return nil
}

// Account returns the name of the account whose token a Secret has. A new token must be for the same account,
// or the provider would treat the consumer as another one.
func Account(secret *corev1.Secret, key string) (string, error) {
	loaded, err := kubeconfig.Load(secret.Data[key])
	switch {
	case err != nil && cli.Made(secret):
		return config.ProviderAccount, nil
	case err != nil:
	case len(loaded.CertData) > 0:
		err = errors.New("it has a client certificate")
	default:
		var name string
		if name, _, err = account.Of(loaded.BearerToken); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("Secret %s/%s has credentials that kubectl spillway cannot renew: %w; replace them by hand (docs/operations.md), or unbind, delete the Secret, and bind again",
		secret.Namespace, secret.Name, err)
}

// plan is what happens to the Secret.
type plan struct {
	// at is the address at which the consumer reaches the provider.
	at clientcmdapi.Cluster
	// account is the account for which to request a token.
	account string
	// until is when the present token expires, if keep is set.
	until time.Time
	keep  bool
}

// credentials decides what happens to the Secret. at is the address that your kubeconfig has. server is the
// value of the flag, or "". Without the flag, the address in the Secret stays.
func (s Seen) credentials(key string, at clientcmdapi.Cluster, server string, now time.Time) plan {
	p := plan{at: at, account: config.ProviderAccount}
	if server != "" {
		p.at.Server = server
	}
	if s.Secret == nil {
		return p
	}
	if loaded, err := kubeconfig.Load(s.Secret.Data[key]); err == nil && server == "" && s.ofProvider(loaded, at) {
		p.at = clientcmdapi.Cluster{Server: loaded.Host, CertificateAuthorityData: loaded.CAData, TLSServerName: loaded.ServerName}
	}
	p.until, p.keep = usable(s.Secret, key, p.at, now)
	return p
}

// ofProvider reports whether credentials are for the provider: the binding was connected to it, or both have
// the same authority. A Secret may be left over from another cluster.
func (s Seen) ofProvider(loaded *rest.Config, at clientcmdapi.Cluster) bool {
	there := s.there()
	return there != nil && there.Status.RemoteClusterUID == s.Provider || sameAuthority(loaded.CAData, at.CertificateAuthorityData)
}

func sameAuthority(a, b []byte) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	return len(a) > 0 && bytes.Equal(a, b)
}

// mayWrite returns an error if p would overwrite a Secret that kubectl spillway did not create.
func (s Seen) mayWrite(p plan) error {
	if s.Secret == nil || p.keep || cli.Made(s.Secret) {
		return nil
	}
	return fmt.Errorf("Secret %s/%s was not created by kubectl spillway, and is not overwritten. Its credentials are for another address, rejected, or past half of their lifetime: "+
		"kubectl spillway rotate %s renews a ServiceAccount token; otherwise replace them by hand, or delete the Secret and run this again",
		s.Secret.Namespace, s.Secret.Name, s.Wanted.Name)
}

// usable reports whether a Secret has credentials of the account for that address, with more than half of
// their lifetime left.
func usable(secret *corev1.Secret, key string, at clientcmdapi.Cluster, now time.Time) (expires time.Time, ok bool) {
	loaded, err := kubeconfig.Load(secret.Data[key])
	if err != nil || loaded.BearerToken == "" || loaded.Host != at.Server || loaded.ServerName != at.TLSServerName ||
		len(at.CertificateAuthorityData) > 0 && !sameAuthority(loaded.CAData, at.CertificateAuthorityData) {
		return expires, false
	}
	_, from, until := kubeconfig.Validity(loaded)
	if from.IsZero() || until.IsZero() {
		return expires, false
	}
	return until, now.Before(from.Add(until.Sub(from) / 2))
}

// accepted reports whether a provider accepts the credentials in a Secret. It asks at the address that your
// kubeconfig has.
func accepted(ctx context.Context, provider *cli.Cluster, secret *corev1.Secret, key, uid string) bool {
	account, err := asAccount(provider, secret.Data[key])
	if err != nil {
		return false
	}
	found, err := account.UID(ctx)
	return err == nil && found == uid
}

// put returns the Secret with these credentials. there may be nil.
func put(there *corev1.Secret, name, key string, document []byte) *corev1.Secret {
	after := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: name, Labels: map[string]string{cli.LabelManagedBy: cli.Owner}}}
	if there != nil {
		after = there.DeepCopy()
	}
	if after.Data == nil {
		after.Data = map[string][]byte{}
	}
	after.Data[key] = document
	return after
}
