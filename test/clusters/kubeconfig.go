package clusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeAdminKubeconfig writes a kubeconfig without references to files, unlike kwokctl's own. It can be
// copied anywhere.
func (c *Cluster) writeAdminKubeconfig() error {
	cert, err := os.ReadFile(filepath.Join(c.dir, "pki", "admin.crt"))
	if err != nil {
		return fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	key, err := os.ReadFile(filepath.Join(c.dir, "pki", "admin.key"))
	if err != nil {
		return fmt.Errorf("reading the administrator's key: %w", err)
	}
	raw, err := c.kubeconfig("admin", "", &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.Kubeconfig, raw, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// KubeconfigFor returns a self-contained kubeconfig of an existing ServiceAccount, with a token that is valid
// for ttl (at least 10 minutes).
func (c *Cluster) KubeconfigFor(ctx context.Context, namespace, serviceAccount string, ttl time.Duration) ([]byte, error) {
	seconds := int64(ttl / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	response, err := c.client.CoreV1().ServiceAccounts(namespace).
		CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: requesting a token for ServiceAccount %s/%s: %w", c.Name, namespace, serviceAccount, err)
	}
	return c.kubeconfig(serviceAccount, namespace, &clientcmdapi.AuthInfo{Token: response.Status.Token})
}

func (c *Cluster) kubeconfig(user, namespace string, auth *clientcmdapi.AuthInfo) ([]byte, error) {
	ca, err := os.ReadFile(filepath.Join(c.dir, "pki", "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("cluster %s: reading its CA: %w", c.Name, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{
		Server:                   "https://" + localhost(c.state.APIServer),
		CertificateAuthorityData: ca,
	}
	// The name contains the cluster's, so that $KUBECONFIG can list the files of several clusters.
	user = c.Name + "-" + user
	config.AuthInfos[user] = auth
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: user, Namespace: namespace}
	config.CurrentContext = c.Name
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: encoding a kubeconfig: %w", c.Name, err)
	}
	return raw, nil
}
