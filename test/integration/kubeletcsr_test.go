package integration

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/clusters"
)

// kubeletServingSigner runs Kubernetes' own signer for the certificates of kubelets, and returns its CA
// certificate. It signs what is approved and has the form of a kubelet's request.
func (c *controlPlane) kubeletServingSigner() *x509.Certificate {
	GinkgoHelper()
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	Expect(err).NotTo(HaveOccurred())
	parsed, err := keyutil.ParsePrivateKeyPEM(key)
	Expect(err).NotTo(HaveOccurred())
	authority, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "kubelets"}, parsed.(crypto.Signer)) //nolint:forcetypeassert // All private keys sign.
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	certFile, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	encoded, err := certutil.EncodeCertificates(authority)
	Expect(err).NotTo(HaveOccurred())
	Expect(certutil.WriteCert(certFile, encoded)).To(Succeed())
	Expect(keyutil.WriteKey(keyFile, key)).To(Succeed())
	root, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	signer := exec.CommandContext(ctx, filepath.Join(root, "bin", "kube", "kube-controller-manager"), "--kubeconfig", c.Kubeconfig,
		"--controllers=certificatesigningrequest-signing-controller", "--leader-elect=false", "--secure-port=0",
		"--cluster-signing-kubelet-serving-cert-file="+certFile, "--cluster-signing-kubelet-serving-key-file="+keyFile)
	session, err := gexec.Start(signer, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Terminate().Wait(patience) })
	return authority
}

var _ = Describe("The serving certificate of the kubelet API, which somebody must approve", slow, func() {
	It("is asked for as a kubelet's, and served once it is approved and signed", func() {
		authority := home.kubeletServingSigner()
		served := serveKubelet(kubelet.Options{Certificate: kubelet.CSR})
		t := newTeam()
		local, _ := served.runs(t)
		_, err := home.kubectl("", "logs", "-n", local.Namespace, local.Name)
		Expect(err).To(MatchError(ContainSubstring("tls: internal error")), "nobody has approved it")

		request := home.requestOf("system:serviceaccount:" + manager.DefaultNamespace + ":spillway-manager")
		DeferCleanup(func() { home.drop(request) })
		Expect(request.Spec.SignerName).To(Equal(certificatesv1.KubeletServingSignerName))
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Approved", Message: "by the administrator",
		})
		Expect(home.SubResource("approval").Update(ctx, request)).To(Succeed())

		// Verified as by an API server with --kubelet-certificate-authority.
		roots := x509.NewCertPool()
		roots.AddCert(authority)
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
		var leaf *x509.Certificate
		Eventually(func() error {
			bounded, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			conn, err := dialer.DialContext(bounded, "tcp", net.JoinHostPort(served.Address, strconv.Itoa(served.Port)))
			if err != nil {
				return err
			}
			leaf = conn.(*tls.Conn).ConnectionState().PeerCertificates[0] //nolint:forcetypeassert // It dials TLS.
			return conn.Close()
		}).Should(Succeed(), "the certificate should be served")
		Expect(leaf.Subject.CommonName).To(Equal("system:node:spillway-manager"))
		Expect(leaf.Subject.Organization).To(ConsistOf("system:nodes"))
		Expect(leaf.NotAfter).To(BeTemporally(">", time.Now()))
		Expect(home.kubectl("", "logs", "-n", local.Namespace, local.Name)).To(Equal("first line of app\n"))
		var all certificatesv1.CertificateSigningRequestList
		Expect(home.List(ctx, &all)).To(Succeed())
		Expect(all.Items).To(HaveLen(1), "one request is enough")
	})
})

// requestOf waits for an account's CertificateSigningRequest.
func (c *controlPlane) requestOf(account string) *certificatesv1.CertificateSigningRequest {
	GinkgoHelper()
	var found *certificatesv1.CertificateSigningRequest
	Eventually(func(g Gomega) {
		var all certificatesv1.CertificateSigningRequestList
		g.Expect(c.List(ctx, &all)).To(Succeed())
		for i := range all.Items {
			if all.Items[i].Spec.Username == account {
				found = &all.Items[i]
			}
		}
		g.Expect(found).NotTo(BeNil())
	}).Should(Succeed(), "%s should ask for a certificate", account)
	return found
}
