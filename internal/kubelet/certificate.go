package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// CertificateMode says where the serving certificate comes from.
type CertificateMode string

const (
	// SelfSigned: the manager creates one when it starts. API servers that verify the certificates of
	// kubelets refuse it. By default they do not verify them.
	SelfSigned CertificateMode = "self-signed"
	// CSR: the manager requests one with a CertificateSigningRequest, which somebody must approve. It never
	// writes the key anywhere, so each start creates a request.
	CSR CertificateMode = "csr"
	// File: the manager reads it from files, and again when they change.
	File CertificateMode = "file"
)

// Validate returns an error for an unknown mode.
func (m CertificateMode) Validate() error {
	if slices.Contains([]CertificateMode{"", SelfSigned, CSR, File}, m) {
		return nil
	}
	return fmt.Errorf("it must be %s, %s or %s", SelfSigned, CSR, File)
}

// DefaultSigner is the signer of the certificates of kubelets.
const DefaultSigner = certificatesv1.KubeletServingSignerName

// commonName and organisation are what that signer requires in a certificate.
const (
	commonName   = "system:node:spillway-manager"
	organisation = "system:nodes"
)

// servingCertificate is a certificate that may change.
type servingCertificate struct {
	get func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// keep renews it until ctx ends.
	keep func(ctx context.Context) error
}

func newServingCertificate(o Options, clients kubernetes.Interface) (servingCertificate, error) {
	switch o.Certificate {
	case CSR:
		return requested(o, clients)
	case File:
		watcher, err := certwatcher.New(o.CertificateFile, o.KeyFile)
		if err != nil {
			return servingCertificate{}, fmt.Errorf("the serving certificate of the kubelet API (--kubelet-certificate-file, --kubelet-key-file): %w", err)
		}
		return servingCertificate{watcher.GetCertificate, watcher.Start}, nil
	default:
		return selfSigned(o.Address)
	}
}

func selfSigned(address string) (servingCertificate, error) {
	certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(address, nil, nil)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("making a serving certificate for the kubelet API: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return servingCertificate{}, fmt.Errorf("making a serving certificate for the kubelet API: %w", err)
	}
	return servingCertificate{
		get:  func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil },
		keep: func(context.Context) error { return nil },
	}, nil
}

// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=create;get;list;watch

// requested requests a certificate, and the next one before it expires.
func requested(o Options, clients kubernetes.Interface) (servingCertificate, error) {
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: []string{organisation}}}
	if ip := net.ParseIP(o.Address); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{o.Address}
	}
	manager, err := certificate.NewManager(&certificate.Config{
		Name:             "kubelet API",
		ClientsetFn:      func(*tls.Certificate) (kubernetes.Interface, error) { return clients, nil },
		Template:         template,
		SignerName:       cmp.Or(o.Signer, DefaultSigner),
		Usages:           []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		CertificateStore: &inMemory{},
	})
	if err != nil {
		return servingCertificate{}, fmt.Errorf("the serving certificate of the kubelet API: %w", err)
	}
	return servingCertificate{
		get: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if current := manager.Current(); current != nil {
				return current, nil
			}
			return nil, errors.New("nobody has approved the CertificateSigningRequest for " + commonName)
		},
		keep: func(ctx context.Context) error {
			manager.Start()
			<-ctx.Done()
			manager.Stop()
			return nil
		},
	}, nil
}

// inMemory is a certificate.Store in memory. Its owner does not use it concurrently.
type inMemory struct{ pair *tls.Certificate }

// Current implements certificate.Store.
func (m *inMemory) Current() (*tls.Certificate, error) {
	if m.pair == nil {
		none := certificate.NoCertKeyError("there is none yet")
		return nil, &none
	}
	return m.pair, nil
}

// Update implements certificate.Store.
func (m *inMemory) Update(certPEM, keyPEM []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	m.pair = &pair
	return m.pair, nil
}
