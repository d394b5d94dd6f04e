package kubelet

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// crowd is a listener for clients that wait.
type crowd struct {
	net.Listener
	waiting  chan net.Conn
	accepted atomic.Int32
	once     sync.Once
}

func (c *crowd) Accept() (net.Conn, error) {
	conn, ok := <-c.waiting
	if !ok {
		return nil, net.ErrClosed
	}
	c.accepted.Add(1)
	return conn, nil
}

func (c *crowd) Close() error {
	c.once.Do(func() { close(c.waiting) })
	return nil
}

func (c *crowd) Addr() net.Addr { return &net.TCPAddr{} }

func (c *crowd) come() net.Conn {
	theirs, ours := net.Pipe()
	c.waiting <- ours
	return theirs
}

// TestCrowd: connections beyond the limit wait until another one ends. Connections of unknown clients are
// closed soon, whatever they send or withhold.
func TestCrowd(t *testing.T) {
	serving, err := selfSigned("localhost")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		at := &crowd{waiting: make(chan net.Conn, 10)}
		server := &Server{Follower: &Follower{Handler: &Handler{Access: admin{}}}, most: 2, certificate: serving}
		ended := make(chan error)
		go func() { ended <- server.serve(ctx, at) }()
		expect := func(accepted int32, what string) {
			t.Helper()
			if synctest.Wait(); at.accepted.Load() != accepted {
				t.Fatalf("%s: %d connections are served, want %d", what, at.accepted.Load(), accepted)
			}
		}
		first, second := at.come(), at.come()
		third := at.come()
		expect(2, "three come")
		_ = first.Close()
		expect(3, "the first has left")

		fourth, fifth := at.come(), at.come()
		expect(3, "two more come")
		time.Sleep(headerTimeout) // The second and the third send nothing.
		expect(5, "they were silent")
		for _, silent := range []net.Conn{second, third} {
			if _, err := silent.Read(make([]byte, 1)); err == nil {
				t.Error("a silent connection is still open")
			}
		}

		for _, one := range []struct {
			conn net.Conn
			asks string
		}{
			{fourth, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"}, {fifth, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"},
		} {
			client := tls.Client(one.conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It is the test's.
			_, _ = io.WriteString(client, one.asks)
			reader := bufio.NewReader(client)
			resp, err := http.ReadResponse(reader, nil)
			if err != nil || resp.StatusCode != http.StatusUnauthorized || !resp.Close {
				t.Fatal(resp, err)
			}
			_, _ = io.Copy(io.Discard, reader) // Until the server closes it; the body never comes.
		}
		at.come()
		at.come()
		expect(7, "nobody knows the two before")
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestUnknown: why a client is unknown is logged, at a limited rate.
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		r, _ := http.NewRequestWithContext(log.IntoContext(t.Context(), logger), http.MethodGet, "/", nil)
		r.RemoteAddr = "10.0.0.7:1234"
		var all unknown
		all.note(r, nil)
		for range 999 {
			all.note(r, io.ErrUnexpectedEOF)
		}
		if len(lines) != fewUnknown || !strings.Contains(lines[0], errNoCredentials.Error()) || !strings.Contains(lines[1], "unexpected EOF") || !strings.Contains(lines[1], "10.0.0.7:1234") {
			t.Errorf("logged %d lines: %s", len(lines), strings.Join(lines, "\n"))
		}
		time.Sleep(unknownInterval)
		all.note(r, nil)
		if want := fmt.Sprintf(`"unlogged"=%d`, 1000-fewUnknown); len(lines) != fewUnknown+1 || !strings.Contains(lines[fewUnknown], want) {
			t.Errorf("after a while: %d lines, want one with %s: %s", len(lines), want, lines[len(lines)-1])
		}
	})
}

// TestReviews: reviews of tokens and of access have separate limits, and share none with the manager.
func TestReviews(t *testing.T) {
	of := &rest.Config{Host: "https://localhost", QPS: -1}
	ask, err := newReviews(of)
	if err != nil {
		t.Fatal(err)
	}
	tokens, access := ask.tokens.RESTClient().GetRateLimiter(), ask.access.RESTClient().GetRateLimiter()
	if tokens == nil || access == nil || tokens == access || tokens.QPS() != reviewsQPS || access.QPS() != reviewsQPS {
		t.Errorf("the limits are %v and %v", tokens, access)
	}
	if of.QPS != -1 {
		t.Error("the manager's own client is limited")
	}
}
