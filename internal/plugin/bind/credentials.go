package bind

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/fleet/kubeconfig"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// labelManagedBy is on the Secrets that the plugin has made, which it deletes again.
const labelManagedBy = "app.kubernetes.io/managed-by"

func ours(secret *corev1.Secret) bool { return secret.Labels[labelManagedBy] == cli.Owner }

// Ours reports whether the plugin has made a Secret.
func Ours(secret *corev1.Secret) bool { return ours(secret) }

// Credentials are those with which the consumer uses a provider.
type Credentials struct {
	// Document is the kubeconfig.
	Document []byte
	Expires  time.Time
}

// Ask asks the provider for a token of the account, and makes a kubeconfig of it.
func Ask(ctx context.Context, provider *cli.Cluster, at clientcmdapi.Cluster, lifetime time.Duration) (*Credentials, error) {
	if len(at.CertificateAuthorityData) == 0 {
		// The one that Kubernetes gives to every pod.
		root := &corev1.ConfigMap{}
		if err := provider.Get(ctx, client.ObjectKey{Namespace: config.ProviderNamespace, Name: "kube-root-ca.crt"}, root); err != nil {
			return nil, fmt.Errorf("the kubeconfig has no certificate authority of %s, and ConfigMap kube-root-ca.crt cannot be read: %w", provider.Name, err)
		}
		at.CertificateAuthorityData = []byte(root.Data["ca.crt"])
	}
	token, expires, err := account.Token(ctx, provider, lifetime)
	if err != nil {
		return nil, fmt.Errorf("asking %s for a token of ServiceAccount %s/%s: %w", provider.Name, config.ProviderNamespace, config.ProviderAccount, err)
	}
	document, err := account.Kubeconfig("provider", at, clientcmdapi.AuthInfo{Token: token})
	if err != nil {
		return nil, err
	}
	if _, err := kubeconfig.Load(document); err != nil {
		return nil, fmt.Errorf("the manager would refuse a kubeconfig for %s: %w", at.Server, err)
	}
	return &Credentials{Document: document, Expires: expires}, nil
}

// usable reports whether a Secret has credentials of the account for that address, of which
// more than half of the time is left.
func usable(secret *corev1.Secret, key string, at clientcmdapi.Cluster, now time.Time) (expires time.Time, ok bool) {
	loaded, err := kubeconfig.Load(secret.Data[key])
	if err != nil || loaded.BearerToken == "" || loaded.Host != at.Server || loaded.ServerName != at.TLSServerName ||
		len(at.CertificateAuthorityData) > 0 && !bytes.Equal(bytes.TrimSpace(loaded.CAData), bytes.TrimSpace(at.CertificateAuthorityData)) {
		return expires, false
	}
	_, from, until := kubeconfig.Validity(loaded)
	if from.IsZero() || until.IsZero() {
		return expires, false
	}
	return until, now.Before(from.Add(until.Sub(from) / 2))
}

// accepted reports whether a provider takes the credentials in a Secret, at the address by
// which we reach it.
func accepted(ctx context.Context, provider *cli.Cluster, secret *corev1.Secret, key, uid string) bool {
	loaded, err := kubeconfig.Load(secret.Data[key])
	if err != nil {
		return false
	}
	as := rest.AnonymousClientConfig(provider.Config)
	as.BearerToken = loaded.BearerToken
	account, err := cli.Connect(as, provider.Name, provider.Config.UserAgent)
	if err != nil {
		return false
	}
	found, err := account.UID(ctx)
	return err == nil && found == uid
}

// put returns the Secret with these credentials. there may be nil.
func put(there *corev1.Secret, name, key string, document []byte) *corev1.Secret {
	after := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: name, Labels: map[string]string{labelManagedBy: cli.Owner}}}
	if there != nil {
		after = there.DeepCopy()
	}
	if after.Data == nil {
		after.Data = map[string][]byte{}
	}
	after.Data[key] = document
	return after
}
