package kubeconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// checkCA requires PEM with at least one certificate and nothing but certificates. Text
// around them is fine, as in many bundles. crypto/x509 would skip what it cannot read,
// and trust the rest.
func checkCA(field string, data []byte) error {
	if len(data) == 0 {
		return invalid(field, "is missing; without it the provider's certificate cannot be verified")
	}
	count, rest := 0, data
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			return invalid(field, "must hold certificates only")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return invalid(field, "has a certificate that cannot be parsed")
		}
		count++
	}
	if count == 0 || bytes.Contains(rest, []byte("-----BEGIN")) {
		return invalid(field, "must hold certificates in PEM form")
	}
	return nil
}

// checkClientCertificate requires a token, a client certificate with its key, or both. It accepts expired
// certificates: the provider's clock decides, not the manager's.
func checkClientCertificate(path string, u *clientcmdv1.AuthInfo) error {
	hasCert, hasKey := len(u.ClientCertificateData) > 0, len(u.ClientKeyData) > 0
	switch {
	case !hasCert && !hasKey && u.Token == "":
		return invalid(path, "has no credentials; it must have a token, or client-certificate-data and client-key-data")
	case !hasCert && !hasKey:
		return nil
	case !hasKey:
		return invalid(join(path, "client-key-data"), "is missing, although client-certificate-data is set")
	case !hasCert:
		return invalid(join(path, "client-certificate-data"), "is missing, although client-key-data is set")
	}
	if _, ok := leaf(u.ClientCertificateData); !ok {
		return invalid(join(path, "client-certificate-data"), "must hold a certificate in PEM form")
	}
	if _, err := tls.X509KeyPair(u.ClientCertificateData, u.ClientKeyData); err != nil {
		return invalid(join(path, "client-key-data"),
			"must hold, in PEM form, the private key of the certificate in client-certificate-data")
	}
	return nil
}

// leaf returns the first certificate of a PEM chain: the client's own.
func leaf(data []byte) (*x509.Certificate, bool) {
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			return nil, false
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		return cert, err == nil
	}
}
