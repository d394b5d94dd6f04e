package endpoint

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// serve starts an HTTPS server, whose certificate is for example.com and 127.0.0.1, and returns its
// certificate in PEM and a function that dials it whatever the address.
func serve(t *testing.T) (bundle []byte, connect dial) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	server.StartTLS()
	t.Cleanup(server.Close)
	bundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return bundle, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
}

func TestCheck(t *testing.T) {
	bundle, connect := serve(t)
	other := []byte(`-----BEGIN CERTIFICATE-----
MIIBYDCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAAMB4XDTIw
-----END CERTIFICATE-----`)
	nowhere := func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("10.0.0.1:22: connection refused by secret-host")
	}
	plain := func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there) }()
		go func() {
			_, _ = there.Write([]byte("SSH-2.0-canary\r\n"))
			_ = there.Close()
		}()
		return here, nil
	}
	for name, test := range map[string]struct {
		host    string
		bundle  []byte
		connect dial
		want    string
	}{
		"its certificate":        {"example.com", bundle, connect, v1alpha1.ReasonVerified},
		"by an IP address":       {"127.0.0.1", bundle, connect, v1alpha1.ReasonVerified},
		"another host":           {"elsewhere.example", bundle, connect, v1alpha1.ReasonCertificateMismatch},
		"a damaged certificate":  {"example.com", other, connect, v1alpha1.ReasonInvalidCABundle},
		"no certificate":         {"example.com", []byte("no PEM"), connect, v1alpha1.ReasonInvalidCABundle},
		"nothing listens":        {"example.com", bundle, nowhere, v1alpha1.ReasonUnverified},
		"another protocol there": {"example.com", bundle, plain, v1alpha1.ReasonUnverified},
		"a loopback address":     {"localhost", bundle, direct, v1alpha1.ReasonUnverified},
	} {
		t.Run(name, func(t *testing.T) {
			got := check(t.Context(), test.connect, v1alpha1.ConsumerAPI{Host: test.host, Port: 443, CABundle: test.bundle}, test.bundle)
			if got.Reason != test.want || got.Message == "" {
				t.Errorf("got %+v, want %s", got, test.want)
			}
			for _, secret := range []string{"canary", "refused", "secret-host", "Acme"} {
				if strings.Contains(got.Message, secret) {
					t.Errorf("the message repeats what the peer or the network said: %s", got.Message)
				}
			}
		})
	}
}

// TestAnotherAuthority: a host with a certificate that the consumer's own authorities have not signed does not get
// the tokens of pods, unless the binding has a caBundle.
func TestAnotherAuthority(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	bundle, connect := serve(t)
	v := NewVerifier(func() ([]byte, error) { return trusted, nil }, clocktesting.NewFakePassiveClock(time.Now()))
	v.connect = connect
	if got := v.check(v1alpha1.ConsumerAPI{Host: "example.com", Port: 443, CABundle: bundle}); got.Reason != v1alpha1.ReasonVerified {
		t.Errorf("with a caBundle: %+v", got)
	}
	got := v.check(v1alpha1.ConsumerAPI{Host: "example.com", Port: 443})
	if got.Reason != v1alpha1.ReasonCertificateMismatch || !strings.Contains(got.Message, "not signed") {
		t.Errorf("got %+v", got)
	}
}

// TestVerifier: one handshake at a time, again after the interval or a change, and never otherwise.
func TestVerifier(t *testing.T) {
	bundle, connect := serve(t)
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	v := NewVerifier(func() ([]byte, error) { return bundle, nil }, clock)
	started, release := make(chan struct{}, 8), make(chan struct{})
	v.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		started <- struct{}{}
		<-release
		return connect(ctx, network, address)
	}
	api := v1alpha1.ConsumerAPI{Host: "example.com", Port: 443}
	done := func() {
		t.Helper()
		<-started
		release <- struct{}{}
		if got := (<-v.Events()).Object.Name; got != "eu" {
			t.Fatalf("the event is about %q", got)
		}
	}
	for range 3 {
		if got, _ := v.Verdict("eu", api); got.Reason != "" {
			t.Fatalf("before any handshake: %+v", got)
		}
	}
	done()
	got, again := v.Verdict("eu", api)
	if got.Reason != v1alpha1.ReasonVerified || again != interval {
		t.Fatalf("got %+v, again after %s", got, again)
	}
	clock.SetTime(clock.Now().Add(interval))
	if got, _ := v.Verdict("eu", api); got.Reason != v1alpha1.ReasonVerified {
		t.Errorf("while it is verified again: %+v", got)
	}
	done()
	api.Host = "elsewhere.example"
	if got, _ := v.Verdict("eu", api); got.Reason != "" {
		t.Errorf("the verdict about another host counts: %+v", got)
	}
	done()
	if got, _ := v.Verdict("eu", api); got.Reason != v1alpha1.ReasonCertificateMismatch {
		t.Errorf("got %+v", got)
	}
	if len(started) != 0 {
		t.Errorf("%d handshakes too many", len(started))
	}
}
