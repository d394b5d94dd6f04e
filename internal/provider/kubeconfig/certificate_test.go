package kubeconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"
)

// pair is a self-signed certificate and its key, in PEM form.
type pair struct{ cert, key []byte }

// notAfter is when the certificates of the tests expire.
var notAfter = time.Date(2039, 1, 2, 3, 4, 5, 0, time.UTC)

var ca, client = newPair("ca"), newPair("client")

func newPair(name string) pair {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: notAfter.AddDate(-20, 0, 0), NotAfter: notAfter,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	return pair{cert: []byte(pemOf("CERTIFICATE", string(der))), key: []byte(pemOf("PRIVATE KEY", string(keyDER)))}
}

func pemOf(kind, content string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(content)}))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
