package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/proxy"
)

// TestStreams: logs and upgrades carry the credentials, each on its own connection, which
// is recognised before it is used.
func TestStreams(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+canary || r.ProtoMajor != 1 || r.UserAgent() != UserAgent {
			http.Error(w, "not as it should be", http.StatusTeapot)
			return
		}
		if r.Header.Get("Upgrade") == "" {
			_, _ = io.WriteString(w, r.URL.String())
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
		_, _ = io.Copy(conn, buffered)
	})
	recognised := 0
	refused := errors.New("another cluster")
	streams, err := NewStreams(configFor(server), Options{Redialed: func(context.Context) error {
		if recognised++; recognised > 2 {
			return refused
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	counted := &Traffic{}
	ctx, end := context.WithCancel(WithTraffic(t.Context(), counted))
	location := streams.Location("/api/v1/namespaces/team/pods/web/log", map[string][]string{"follow": {"true"}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := streams.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(resp.Body); string(got) != "/api/v1/namespaces/team/pods/web/log?follow=true" {
		t.Errorf("got %q", got)
	}
	_ = resp.Body.Close()

	upgrade := &proxy.UpgradeAwareHandler{UpgradeTransport: streams.Upgrade()}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "test")
	conn, err := upgrade.DialForUpgrade(req)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	switched, err := http.ReadResponse(reader, req)
	if err != nil || switched.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(switched, err)
	}
	_, _ = io.WriteString(conn, "hello")
	if got := make([]byte, 5); !errors.Is(readFull(reader, got), nil) || string(got) != "hello" {
		t.Errorf("got %q", got)
	}
	end()
	if err := readFull(reader, make([]byte, 1)); err == nil {
		t.Error("the stream outlives its context")
	}
	if _, err := upgrade.DialForUpgrade(req.WithContext(t.Context())); err == nil || !strings.Contains(err.Error(), refused.Error()) {
		t.Errorf("another cluster: got %v", err)
	}
	if received, sent := counted.Bytes(); received == 0 || sent == 0 {
		t.Errorf("counted %d and %d bytes", received, sent)
	}
}

func readFull(from io.Reader, p []byte) error {
	_, err := io.ReadFull(from, p)
	return err
}

func TestStreamFollowsNoRedirect(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		func(s *httptest.Server) { s.EnableHTTP2 = false })
	streams, err := NewStreams(configFor(server), Options{})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, streams.Location("/", nil).String(), nil)
	resp, err := streams.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("got %s", resp.Status)
	}
}

// TestStreamIsBounded: a silent one closes itself, and so does one whose header has no end.
func TestStreamIsBounded(t *testing.T) {
	address := startTCP(t, func(conn net.Conn) {
		_, _ = io.Copy(conn, conn)
	})
	silent, err := (&streamDialer{idle: time.Millisecond}).dial(t.Context(), "tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("it is still open")
	}
	counted := &Traffic{}
	endless, err := (&streamDialer{idle: time.Hour}).dial(WithTraffic(t.Context(), counted), "tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = endless.Close() }()
	go func() { _, _ = io.WriteString(endless, strings.Repeat("x", maxHeaderBytes+2)) }()
	if _, err := io.CopyN(io.Discard, endless, maxHeaderBytes+1); !errors.Is(err, ErrHeader) {
		t.Errorf("got %v", err)
	}
	counted.Begin()
	_, _ = io.WriteString(endless, "x")
	if _, err := io.CopyN(io.Discard, endless, 1); err != nil {
		t.Errorf("once it has begun: %v", err)
	}
}
