package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// setup has an API server with TLS behind a proxy, and its client. The server sends to watchers what is put
// into says.
type setup struct {
	*Proxy
	client *http.Client
	says   chan string
}

func newSetup(t *testing.T) *setup {
	t.Helper()
	s := &setup{says: make(chan string)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/watch" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		for {
			w.(http.Flusher).Flush()
			select {
			case text := <-s.says:
				_, _ = io.WriteString(w, text)
			case <-r.Context().Done():
				return
			}
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	var err error
	if s.Proxy, err = New(strings.TrimPrefix(server.URL, "https://")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.client = server.Client()
	return s
}

func (s *setup) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.Addr()+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return s.client.Do(request)
}

// ask returns the answer or an error.
func (s *setup) ask(ctx context.Context) (string, error) {
	response, err := s.get(ctx, "/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func (s *setup) mustAnswer(t *testing.T) {
	t.Helper()
	if text, err := s.ask(t.Context()); err != nil || text != "ok" {
		t.Fatalf("the answer is %q, %v", text, err)
	}
}

// watch starts to read what the server sends.
func (s *setup) watch(t *testing.T) <-chan string {
	t.Helper()
	response, err := s.get(t.Context(), "/watch")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 8)
	go func() {
		defer response.Body.Close()
		defer close(heard)
		buffer := make([]byte, 64)
		for {
			n, err := response.Body.Read(buffer)
			if n > 0 {
				heard <- string(buffer[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return heard
}

// enough bounds the wait for what must not happen. The wait for what must happen has no bound.
const enough = 100 * time.Millisecond

func TestBlackHole(t *testing.T) {
	s := newSetup(t)
	heard := s.watch(t)
	s.mustAnswer(t)
	s.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	if _, err := s.ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("on an old connection: %v, want a time-out", err)
	}
	s.client.CloseIdleConnections() // The watch keeps its own.
	s.says <- "held back"
	select {
	case text := <-heard:
		t.Errorf("%q came through", text)
	case <-time.After(enough):
	}
	s.Heal()
	if text := <-heard; text != "held back" {
		t.Errorf("after healing there is %q", text)
	}
	s.mustAnswer(t)
}

func TestBlackHoleForNewConnections(t *testing.T) {
	s := newSetup(t)
	s.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	if _, err := s.ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a time-out", err)
	}
	if s.Tries() != 1 {
		t.Errorf("%d tries, want 1", s.Tries())
	}
	s.Heal()
	s.mustAnswer(t)
}

func TestReset(t *testing.T) {
	s := newSetup(t)
	heard := s.watch(t)
	s.Reset()
	if text, ok := <-heard; ok {
		t.Errorf("%q came through", text)
	}
	for range 3 {
		if _, err := s.ask(t.Context()); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v, want a reset", err)
		}
	}
	if s.Tries() < 3 {
		t.Errorf("%d tries, want at least 3", s.Tries())
	}
	s.Heal()
	s.mustAnswer(t)
}

// If a reset replaces a black hole, nothing that it has swallowed passes.
func TestResetInABlackHole(t *testing.T) {
	s := newSetup(t)
	heard := s.watch(t)
	s.BlackHole()
	s.says <- "swallowed"
	s.Reset()
	for text := range heard {
		t.Errorf("%q came through", text)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, cut := range []func(*Proxy){(*Proxy).Heal, (*Proxy).BlackHole, (*Proxy).Reset} {
		t.Run("", func(t *testing.T) {
			s := newSetup(t)
			s.watch(t)
			cut(s.Proxy)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			s.client.CloseIdleConnections()
		})
	}
	deadline := time.After(10 * time.Second)
	for runtime.NumGoroutine() > before { // Those of the servers and clients end by themselves.
		select {
		case <-deadline:
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		case <-time.After(time.Millisecond):
		}
	}
}
