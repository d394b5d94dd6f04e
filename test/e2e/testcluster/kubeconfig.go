package testcluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// kubeconfigFor requests a token of a ServiceAccount as an administrator, and returns a kubeconfig with it,
// as hack/provider-kubeconfig.sh does.
func kubeconfigFor(ctx context.Context, admin *rest.Config, namespace, serviceAccount string, ttl time.Duration) ([]byte, error) {
	api, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(ttl / time.Second))},
	}
	granted, err := api.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token of ServiceAccount %s/%s: %w", namespace, serviceAccount, err)
	}
	const name = "cluster"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	kubeconfig.AuthInfos[serviceAccount] = &clientcmdapi.AuthInfo{Token: granted.Status.Token}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: serviceAccount, Namespace: namespace}
	kubeconfig.CurrentContext = name
	return clientcmd.Write(*kubeconfig)
}
