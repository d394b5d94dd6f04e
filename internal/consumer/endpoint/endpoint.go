// Package endpoint verifies the certificate of the consumer's API server at the address where pods in a
// provider reach it. It makes TLS handshakes and sends nothing else. What it reports has no text from the
// peer, and does not say why a handshake failed: a ClusterBinding is no tool to look into the manager's
// network.
package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// timeout bounds one handshake, including the lookup of the name.
const timeout = 10 * time.Second

// Verdict is what a handshake has shown. Its zero value says that nothing is known.
type Verdict struct {
	// Reason is one of the reasons of v1alpha1.BindingConsumerAPI.
	Reason string
	// Message is a sentence for people.
	Message string
}

// dial opens a connection. Tests replace it.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// AuthorityOf returns a function that returns the certificates, in PEM, by which the manager itself verifies
// the consumer's API server. In a cluster, the kubelet keeps that file up to date.
func AuthorityOf(config *rest.Config) func() ([]byte, error) {
	return func() ([]byte, error) {
		if len(config.CAData) > 0 || config.CAFile == "" {
			return config.CAData, nil
		}
		return os.ReadFile(config.CAFile)
	}
}

// check makes one handshake. bundle has the authorities to trust.
func check(ctx context.Context, connect dial, api v1alpha1.ConsumerAPI, bundle []byte) Verdict {
	pool, problem := poolOf(bundle)
	if problem != "" {
		return Verdict{v1alpha1.ReasonInvalidCABundle, problem}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	where := net.JoinHostPort(api.Host, strconv.Itoa(int(api.Port)))
	at := where
	if api.IP != "" {
		at = net.JoinHostPort(api.IP, strconv.Itoa(int(api.Port)))
	}
	err := handshake(ctx, connect, at, &tls.Config{ServerName: api.Host, RootCAs: pool, MinVersion: tls.VersionTLS12})
	var refused *tls.CertificateVerificationError
	switch {
	case err == nil:
		return Verdict{v1alpha1.ReasonVerified, "the API server at " + where + " has a certificate for this host"}
	case errors.As(err, &refused):
		return Verdict{v1alpha1.ReasonCertificateMismatch, mismatch(refused.Err, where, len(api.CABundle) > 0)}
	default:
		return Verdict{v1alpha1.ReasonUnverified, "the manager could not complete a TLS handshake with " + where + "; pods in the provider may reach it"}
	}
}

func handshake(ctx context.Context, connect dial, address string, config *tls.Config) error {
	conn, err := connect(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	return tls.Client(conn, config).HandshakeContext(ctx)
}

// mismatch says what is wrong with a certificate, without any of its text.
func mismatch(err error, where string, bundled bool) string {
	from := "caBundle"
	if !bundled {
		from = "the consumer's own API server, which count because caBundle is not set"
	}
	var (
		host    x509.HostnameError
		signer  x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &host):
		return "the certificate at " + where + " is for another host; name a host that the certificate of the API server has, and use ip if the DNS does not know it"
	case errors.As(err, &signer):
		return "the certificate at " + where + " is not signed by the authorities of " + from
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate at " + where + " has expired, or is not valid yet"
	default:
		return "the certificate at " + where + " is invalid"
	}
}

// poolOf parses a bundle, or says what is wrong with it.
func poolOf(bundle []byte) (pool *x509.CertPool, problem string) {
	pool = x509.NewCertPool()
	number := 0
	for rest := bundle; ; number++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return nil, fmt.Sprintf("caBundle: block %d is no valid certificate", number+1)
		}
		pool.AddCert(certificate)
	}
	if number == 0 {
		return nil, "caBundle has no certificate in PEM"
	}
	return pool, ""
}

// errLocal says that a name leads to an address that no pod of a provider could use.
var errLocal = errors.New("the address is not a global one")

// direct dials without a proxy. A name may lead anywhere, so it checks the address that was found.
func direct(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !to.Addr().Unmap().IsGlobalUnicast() {
			return errLocal
		}
		return nil
	}}
	return dialer.DialContext(ctx, network, address)
}
