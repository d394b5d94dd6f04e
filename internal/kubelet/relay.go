package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/proxy"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// relay relays one stream to the provider's API server.
type relay struct {
	*stream
	from fleet.Streams
	// patience is how long the provider may take to answer, or to say why it refuses.
	patience time.Duration
	timer    *time.Timer
	// mustEnd says why the stream must end already, or returns nil.
	mustEnd func() *kubeletapi.Refusal
}

// timeout ends the stream if the provider does not answer in time. Logs that are followed have no answer
// before the container's first line, so only their dialing is limited.
func (r *relay) timeout() {
	if r.request.Query.Get("follow") != "true" {
		r.timer = r.within()
	}
}

// within ends the stream after patience, unless the timer is stopped.
func (r *relay) within() *time.Timer {
	return time.AfterFunc(r.patience, func() {
		r.end(&kubeletapi.Refusal{Reason: kubeletapi.ProviderFailed, Code: http.StatusBadGateway, Message: fmt.Sprintf("provider %s has not answered within %s", r.target.ClusterID, r.patience)})
	})
}

// answered notes that the header of the answer has come. It says why the stream must not begin nevertheless.
func (r *relay) answered() *kubeletapi.Refusal {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.traffic.Begin()
	return r.mustEnd()
}

// report logs that a stream has ended, without its content or its command.
func (r *relay) report(ctx context.Context, began time.Time) {
	if r.timer != nil {
		r.timer.Stop()
	}
	metrics.StreamSeconds.WithLabelValues(r.request.Action.Subresource()).Observe(time.Since(began).Seconds())
	received, sent := r.traffic.Bytes()
	values := []any{
		"action", r.request.Action, "binding", r.target.Binding, "namespace", r.request.Pod.Namespace, "pod", r.request.Pod.Name,
		"container", r.request.Container, "received", received, "sent", sent, "duration", time.Since(began).Round(time.Millisecond).String(),
	}
	if refusal := asRefusal(ctx); refusal != nil {
		values = append(values, "because", refusal.Message)
	}
	log.FromContext(ctx).Info("stream has ended", values...)
}

// failed returns the refusal if there was no answer.
func (r *relay) failed(ctx context.Context, err error) *kubeletapi.Refusal {
	if refusal := asRefusal(ctx); refusal != nil {
		return refusal
	}
	return &kubeletapi.Refusal{Reason: kubeletapi.ProviderFailed, Code: http.StatusBadGateway, Message: fmt.Sprintf("provider %s cannot be reached: %.512s", r.target.ClusterID, text.Clean(err.Error()))}
}

// logs copies logs, each piece at once.
func (r *relay) logs(w http.ResponseWriter, out *http.Request) *kubeletapi.Refusal {
	resp, err := r.from.RoundTrip(out)
	if err != nil {
		return r.failed(out.Context(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	refusal := r.answered()
	if refusal == nil && resp.StatusCode != http.StatusOK {
		timer := r.within()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, kubeletapi.MostOfAnswer))
		timer.Stop()
		refusal = kubeletapi.ProviderError(r.request.Action, r.target.ClusterID, resp.StatusCode, body)
	}
	if refusal != nil {
		return refusal
	}
	w.Header().Set("Content-Type", "text/plain")
	control := http.NewResponseController(w)
	// A client that has stopped reading would hold up a stream that must end.
	defer context.AfterFunc(out.Context(), func() { _ = control.SetWriteDeadline(time.Now()) })()
	piece := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(piece)
		if n > 0 {
			if _, err := w.Write(piece[:n]); err != nil {
				return nil // The client is gone.
			}
			_ = control.Flush() // If it fails, so does the next write.
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			// The header has been sent. Only a missing last chunk shows that the logs are incomplete.
			panic(http.ErrAbortHandler)
		}
	}
}

// upgrade relays a connection in both directions, until one side ends it.
func (r *relay) upgrade(w http.ResponseWriter, out *http.Request) *kubeletapi.Refusal {
	guarded := &guarded{ResponseWriter: w, relay: r, ctx: out.Context()}
	location := *out.URL
	handler := proxy.NewUpgradeAwareHandler(&location, nil, false, true, proxy.NewErrorResponder(guarded))
	handler.UpgradeTransport = r.from.Upgrade()
	handler.UseLocationHost = true
	// What it would log as errors is in the answer, or is the normal end of a stream.
	handler.ServeHTTP(guarded, out.WithContext(logr.NewContext(out.Context(), logr.Discard())))
	if guarded.refusal == nil && guarded.err != nil {
		guarded.refusal = r.failed(out.Context(), guarded.err)
	}
	return guarded.refusal
}

// guarded is the answer to an upgrade request. It hands over the connection once the provider has answered.
type guarded struct {
	http.ResponseWriter
	relay   *relay
	ctx     context.Context //nolint:containedctx // It lives as long as one request.
	refusal *kubeletapi.Refusal
	err     error
}

// Error implements proxy.SimpleErrorResponder: it notes why there is no stream.
func (g *guarded) Error(err error) { g.err = err }

// Hijack implements http.Hijacker.
func (g *guarded) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if g.refusal = g.relay.answered(); g.refusal != nil {
		return nil, nil, g.refusal
	}
	conn, buffered, err := http.NewResponseController(g.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	// A client that has stopped reading would hold up a stream that must end.
	context.AfterFunc(g.ctx, func() { _ = conn.Close() })
	return &clientConn{Conn: conn, relay: g.relay}, buffered, nil
}

// switching is the beginning of the answer to an upgrade that was granted.
const switching = "HTTP/1.1 101 "

// clientConn is the connection to the client. If the provider has refused, it sends the refusal in Spillway's
// words.
type clientConn struct {
	net.Conn
	relay *relay
	// begun is set once something was written. refused collects an answer that is not a stream.
	begun   bool
	refused *bytes.Buffer
}

// Write implements io.Writer.
func (a *clientConn) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		if !strings.HasPrefix(string(p[:min(len(p), len(switching))]), switching) {
			a.refused = &bytes.Buffer{}
		}
	}
	if a.refused == nil {
		return a.Conn.Write(p)
	}
	if a.refused.Len()+len(p) > kubeletapi.MostOfAnswer {
		return 0, transport.ErrHeader
	}
	return a.refused.Write(p)
}

// Close implements io.Closer.
func (a *clientConn) Close() error {
	if a.refused != nil {
		a.writeRefusal()
	}
	return a.Conn.Close()
}

// writeRefusal writes the refusal.
func (a *clientConn) writeRefusal() {
	refusal := a.relay.failed(context.Background(), transport.ErrHeader)
	if resp, err := http.ReadResponse(bufio.NewReader(a.refused), nil); err == nil {
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		refusal = kubeletapi.ProviderError(a.relay.request.Action, a.relay.target.ClusterID, resp.StatusCode, body)
	}
	metrics.StreamsRefused.WithLabelValues(string(refusal.Reason)).Inc()
	text := refusal.Message + "\n"
	_, _ = fmt.Fprintf(a.Conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		refusal.Code, http.StatusText(refusal.Code), len(text), text)
}
