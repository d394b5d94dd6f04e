package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// canary is the token of all clients. No message may contain it.
const canary = "c4narySecret"

// startServer starts a TLS server with HTTP/2 for a test.
func startServer(t *testing.T, handler http.HandlerFunc, change ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Failed handshakes are expected.
	for _, f := range change {
		f(server)
	}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections() // So that Close does not wait for hanging handlers.
		server.Close()
	})
	return server
}

// configFor is the configuration of a client that trusts the server.
func configFor(server *httptest.Server) *rest.Config {
	return &rest.Config{
		Host: server.URL, BearerToken: canary,
		TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(server.Certificate().Raw)},
	}
}

// newClient makes a client, and closes it at the end of the test.
func newClient(t *testing.T, cfg *rest.Config, opts Options) *http.Client {
	t.Helper()
	client, err := HTTPClient(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(client) })
	return client
}

// get makes a request and reads the answer to its end.
func get(t *testing.T, client *http.Client, url string) (*http.Response, []byte, error) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	return resp, content, err
}

// hang answers with some bytes, if any, and then with nothing until the client is gone.
func hang(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if begin != "" {
			_, _ = io.WriteString(w, begin)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker, end := time.NewTicker(5*time.Millisecond), time.After(20*time.Second)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-end:
			t.Fatal("timed out waiting: " + what)
		}
	}
}

// startTCP starts a listener that passes each connection to serve, and closes them all at
// the end of the test.
func startTCP(t *testing.T, serve func(net.Conn)) net.Addr {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			go serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return listener.Addr()
}

// selfSigned makes a certificate for 127.0.0.1 that is valid until notAfter.
func selfSigned(t *testing.T, notAfter time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "provider"},
		NotBefore: notAfter.AddDate(-1, 0, 0), NotAfter: notAfter,
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func pemOf(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
