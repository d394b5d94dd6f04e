package integration

import (
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
)

// The identity of config/provider.
const (
	providerNamespace = "spillway-provider"
	providerAccount   = "spillway-consumer"
)

// tokenLifetime is the lifetime of tokens that people renew. Tokens for less than a day are reported in less
// detail. briefly is longer than any spec.
const (
	tokenLifetime = 48 * time.Hour
	briefly       = time.Hour
)

// credentials are the tokens that the specs requested.
var credentials = &tokens{}

type tokens struct {
	mu    sync.Mutex
	known []string
}

func (t *tokens) note(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known = append(t.known, token)
}

func (t *tokens) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known
}

// kubeconfig returns a kubeconfig for a ServiceAccount of the cluster.
func (c *controlPlane) kubeconfig(namespace, account string) []byte {
	GinkgoHelper()
	return c.kubeconfigFor(namespace, account, tokenLifetime)
}

func (c *controlPlane) kubeconfigFor(namespace, account string, lifetime time.Duration) []byte {
	GinkgoHelper()
	kubeconfig, err := c.KubeconfigFor(ctx, namespace, account, lifetime)
	Expect(err).NotTo(HaveOccurred())
	parsed, err := clientcmd.Load(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	for _, user := range parsed.AuthInfos {
		credentials.note(user.Token)
	}
	return kubeconfig
}

// providerKubeconfig returns what a provider's administrator gives to a consumer.
func (c *controlPlane) providerKubeconfig() []byte {
	GinkgoHelper()
	return c.kubeconfig(providerNamespace, providerAccount)
}

// edited returns a kubeconfig after a change of its only cluster and its only user.
func edited(kubeconfig []byte, change func(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo)) []byte {
	GinkgoHelper()
	parsed, err := clientcmd.Load(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	context := parsed.Contexts[parsed.CurrentContext]
	change(parsed.Clusters[context.Cluster], parsed.AuthInfos[context.AuthInfo])
	changed, err := clientcmd.Write(*parsed)
	Expect(err).NotTo(HaveOccurred())
	return changed
}

// putSecret creates or updates a Secret in the manager's namespace. It stays until the control planes end:
// the deletion of its binding needs it.
func (c *controlPlane) putSecret(name string, data map[string][]byte) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manager.DefaultNamespace, Name: name}, Data: data}
	err := c.Create(ctx, secret)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = c.Update(ctx, secret)
	}
	Expect(err).NotTo(HaveOccurred())
}

// putKubeconfig creates or updates the Secret of a binding.
func (c *controlPlane) putKubeconfig(name string, kubeconfig []byte) {
	GinkgoHelper()
	c.putSecret(name, map[string][]byte{v1alpha1.DefaultKubeconfigKey: kubeconfig})
}
