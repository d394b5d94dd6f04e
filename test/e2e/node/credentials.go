package node

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net/url"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// signingPatience bounds the wait for the controller manager, which signs within a second.
const signingPatience = 30 * time.Second

// credentials returns the kubelet's credentials. The cluster signs the certificate as for any node, so the
// kubelet has a node's rights and no more.
func (n *Node) credentials(ctx context.Context) (*clientcmdapi.AuthInfo, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName:   "system:node:" + n.Name,
		Organization: []string{"system:nodes"},
	}}, key)
	if err != nil {
		return nil, err
	}
	certificate, err := sign(ctx, n.api, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
	if err != nil {
		return nil, fmt.Errorf("getting a certificate for the kubelet: %w", err)
	}
	return &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: keyPEM}, nil
}

// kubeconfig returns a kubeconfig that leads through the door. The API server behind it has a certificate for
// its own address.
func (n *Node) kubeconfig(cluster *rest.Config, user *clientcmdapi.AuthInfo) ([]byte, error) {
	server, err := url.Parse(cluster.Host)
	if err != nil {
		return nil, err
	}
	const name = "node"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{
		Server: "https://" + n.APIServer().String(), TLSServerName: server.Hostname(), CertificateAuthorityData: cluster.CAData,
	}
	kubeconfig.AuthInfos[name] = user
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	return clientcmd.Write(*kubeconfig)
}

// sign waits until the controller manager has approved and signed a request. It approves requests of users
// who may request any node's certificate, such as an administrator.
func sign(ctx context.Context, api kubernetes.Interface, request []byte) ([]byte, error) {
	requests := api.CertificatesV1().CertificateSigningRequests()
	csr, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "kubelet-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    request,
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	name := csr.Name
	err = await(ctx, signingPatience, func(ctx context.Context) error {
		if csr, err = requests.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if len(csr.Status.Certificate) == 0 {
			return fmt.Errorf("request %s is not signed: does the controller manager have --cluster-signing-cert-file?", name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return csr.Status.Certificate, nil
}
