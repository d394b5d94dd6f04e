package inject

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

// ErrCrashed is the error of every request of a crashed manager.
var ErrCrashed = errors.New("this manager has crashed")

// Process represents one manager, from its start to its crash.
type Process struct {
	injector *Injector
	alive    context.Context //nolint:containedctx // It is the life of the process, which every request of it ends with.
	kill     context.CancelCauseFunc
}

// Process returns the Process of a new manager.
func (i *Injector) Process() *Process {
	p := &Process{injector: i}
	p.alive, p.kill = context.WithCancelCause(context.Background())
	return p
}

// WrapNamed wraps the transport to a cluster.
func (p *Process) WrapNamed(cluster string, next http.RoundTripper) http.RoundTripper {
	return &transport{process: p, cluster: cluster, next: next}
}

// Kill aborts the manager's requests in flight. Later ones fail.
func (p *Process) Kill() { p.kill(ErrCrashed) }

// Crashed reports whether the manager was killed or has crashed.
func (p *Process) Crashed() bool { return p.alive.Err() != nil }

func (p *Process) crash() {
	p.Kill()
	if p.injector.hooks.OnCrash != nil {
		p.injector.hooks.OnCrash()
	}
}

type transport struct {
	process *Process
	cluster string
	next    http.RoundTripper
}

// WrappedRoundTripper returns the wrapped transport, as client-go expects.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip forwards the request, unless a fault happens at it.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.process.alive.Err() != nil {
		return t.drop(r)
	}
	target := requests.Parse(r)
	switch {
	case target.Class != requests.Work && !step(target):
		return t.send(r)
	case target.Verb == requests.Watch:
		response, err := t.send(r)
		if err == nil && response.StatusCode == http.StatusOK {
			tamper(t, target, response)
		}
		return response, err
	case !target.Writes():
		response, err := t.send(r)
		t.process.injector.noteAnswer(t.cluster, target, outcome(response, err))
		return response, err
	}
	return t.write(r, target)
}

// step reports whether a request counts as a step although it is not work: the manager deletes the Lease of a
// virtual node before the node.
func step(target requests.Target) bool {
	return target.Class == requests.Leases && target.Verb == requests.Delete
}

func (t *transport) write(r *http.Request, target requests.Target) (*http.Response, error) {
	injector := t.process.injector
	kind, fails := injector.begin(t.cluster, target)
	defer injector.end()
	var response *http.Response
	var err error
	switch {
	case !fails:
		response, err = t.send(r)
	case kind.IsCut():
		if injector.hooks.OnCut != nil {
			injector.hooks.OnCut(t.cluster, kind)
		}
		response, err = t.send(r)
	case kind == recipe.NotFound && target.Verb == requests.Delete && injector.hooks.OnNotFound != nil:
		injector.hooks.OnNotFound(t.cluster, target)
		response, err = t.send(r)
	case kind.IsCrash():
		response, err = t.crash(r, kind)
	default:
		response, err = t.fail(r, target, kind)
	}
	injector.noteAnswer(t.cluster, target, outcome(response, err))
	return response, err
}

// crash crashes the manager at the request.
func (t *transport) crash(r *http.Request, kind recipe.Kind) (*http.Response, error) {
	if kind == recipe.CrashBeforeSend {
		t.process.crash()
		return t.drop(r)
	}
	response, err := t.complete(r)
	t.process.crash()
	if kind == recipe.CrashAfterCommit && err == nil {
		return nil, ErrCrashed
	}
	return response, err
}

// fail answers instead of the API server.
func (t *transport) fail(r *http.Request, target requests.Target, kind recipe.Kind) (*http.Response, error) {
	if kind != recipe.TimeoutAfterCommit {
		_, _ = t.drop(r)
		return answer(r, statusOf(kind, target))
	}
	if response, err := t.complete(r); err != nil || response.StatusCode >= http.StatusBadRequest {
		return response, err
	}
	return answer(r, statusOf(kind, target))
}

// drop discards a request without sending it.
func (t *transport) drop(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close() // Asked of every RoundTripper.
	}
	return nil, ErrCrashed
}

// complete sends a request and reads the whole answer.
func (t *transport) complete(r *http.Request) (*http.Response, error) {
	response, err := t.send(r)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(raw))
	return response, nil
}

// send sends a request, and cancels it when the manager crashes.
func (t *transport) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(t.process.alive, func() { cancel(ErrCrashed) }) //nolint:contextcheck // The request ends with the process too, besides its own context.
	release := func() {
		stop()
		cancel(nil)
	}
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &body{ReadCloser: response.Body, release: release}
	return response, nil
}

// body releases the resources of its request on Close.
type body struct {
	io.ReadCloser
	release func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

func outcome(response *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	return strconv.Itoa(response.StatusCode)
}
