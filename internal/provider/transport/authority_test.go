package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestAuthority uses one address that leads to two servers in turn. An answer's authority
// comes from its own connection, which need not be the latest: a provider can pass
// connections on to another server, whose certificate is then verified.
func TestAuthority(t *testing.T) {
	// The first server reports when it is asked, and answers after the second.
	asked, held, open := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	close(open)
	server := func(name string, wait <-chan struct{}) (*httptest.Server, []byte) {
		certificate := selfSigned(t, time.Now().AddDate(0, 0, 100))
		s := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
			asked <- struct{}{}
			<-wait
			_, _ = io.WriteString(w, name)
		}, func(s *httptest.Server) {
			s.EnableHTTP2 = false // So that the second request has its own connection.
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
		})
		return s, pemOf(certificate.Certificate[0])
	}
	first, ofFirst := server("first", held)
	second, ofSecond := server("second", open)
	var dialled atomic.Int32
	address := startTCP(t, func(conn net.Conn) {
		to := first
		if dialled.Add(1) > 1 {
			to = second
		}
		behind, err := net.Dial("tcp", to.Listener.Addr().String())
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(behind, conn) }()
		_, _ = io.Copy(conn, behind)
	})
	client := newClient(t, &rest.Config{Host: "https://" + address.String(), TLSClientConfig: rest.TLSClientConfig{CAData: slices.Concat(ofFirst, ofSecond)}}, Options{})
	ask := func() (said, authority string) {
		req, err := http.NewRequestWithContext(WithAuthority(t.Context(), func(of string) { authority = of }), http.MethodGet, "https://"+address.String(), nil)
		if err != nil {
			t.Error(err)
			return "", ""
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return "", ""
		}
		defer func() { _ = resp.Body.Close() }()
		content, _ := io.ReadAll(resp.Body)
		return string(content), authority
	}
	type answer struct{ said, authority string }
	early := make(chan answer, 1)
	go func() {
		said, authority := ask()
		early <- answer{said, authority}
	}()
	<-asked
	late, other := ask()
	close(held)
	got := <-early
	if got.said != "first" || late != "second" {
		t.Fatalf("answered by %q and %q", got.said, late)
	}
	if want := authorityOf(stateOf(t, ofFirst)); got.authority != want {
		t.Errorf("the authority of the first is %q, want %q", got.authority, want)
	}
	if want := authorityOf(stateOf(t, ofSecond)); other != want || other == got.authority {
		t.Errorf("the authority of the second is %q, want %q", other, want)
	}
}

// stateOf is that of a connection vouched for by a certificate alone.
func stateOf(t *testing.T, certificate []byte) *tls.ConnectionState {
	t.Helper()
	block, _ := pem.Decode(certificate)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{parsed}}}
}

// TestEachRequestHasItsOwnAuthority: one that is made on behalf of another one, such as when its
// connection is opened, reports nothing to the other one.
func TestEachRequestHasItsOwnAuthority(t *testing.T) {
	certificate := selfSigned(t, time.Now().AddDate(0, 0, 100))
	server := startServer(t, func(http.ResponseWriter, *http.Request) {}, func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	})
	client := newClient(t, &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(certificate.Certificate[0])}}, Options{})
	said, inner := 0, 0
	ctx := WithAuthority(t.Context(), func(string) { said++ })
	for _, ctx := range []context.Context{WithAuthority(ctx, func(string) { inner++ }), ctx} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	if said != 1 || inner != 1 {
		t.Errorf("each is told of one answer, not of %d and %d", said, inner)
	}
}
