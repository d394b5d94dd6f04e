package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// maxRetryAfter, in seconds, is the longest that a provider can make client-go sleep before it retries a
// request. The sleeping goroutine may be one of the few that serve all providers.
const maxRetryAfter = 5

// TimeoutError is the error of a request without a timely answer. errors.Is treats it as a
// context.DeadlineExceeded.
type TimeoutError struct {
	// After is how long the request was allowed to take.
	After time.Duration
	// OthersAnswered reports that it was a write, and that the provider has answered other requests meanwhile.
	OthersAnswered bool
}

func (e *TimeoutError) Error() string {
	if e.OthersAnswered {
		return fmt.Sprintf("no answer within %s, although the provider answers other requests; most often, one of its admission webhooks does not answer", e.After.Round(time.Second))
	}
	return fmt.Sprintf("no complete answer within %s", e.After)
}

// HeldUp reports that the provider is not away, but holds up this write.
func (e *TimeoutError) HeldUp() bool { return e.OthersAnswered }

// Timeout returns true, which makes this a timeout to net.Error and url.Error.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary returns true, as for other timeouts.
func (e *TimeoutError) Temporary() bool { return true }

// Is reports that this is a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// SizeError is the error of reading an answer that is too large.
type SizeError struct {
	// Limit is how large it may be, in bytes.
	Limit int64
}

func (e *SizeError) Error() string {
	return "the answer is larger than " + inMiB(e.Limit)
}

// bounded limits the time and the size of each request.
type bounded struct {
	next        http.RoundTripper
	connections *connections
	prefix      string
	opts        Options
	excess      *excess
	answered    atomic.Int64 // When a request was answered last, in nanoseconds since 1970. Failures of a proxy do not count.
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.connections.closed.Load() {
		if req.Body != nil {
			_ = req.Body.Close() // Every RoundTripper must.
		}
		return nil, ErrClosed
	}
	kind, resource := kindOf(req, b.prefix), collection(req, b.prefix)
	if kind != single && req.Method == http.MethodGet {
		if err := b.excess.begin(req, resource); err != nil {
			return nil, err
		}
	}
	most := b.timeout(req, kind)
	after, err := b.opts.withinFence(req, most)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	deadline := newDeadline(req.Context(), after, func(taken time.Duration) time.Duration {
		left, _ := b.opts.withinFence(req, most-taken) // With an error, it is 0.
		return left
	})
	began, ended := time.Now(), b.opts.writing(req)
	resp, err := b.next.RoundTrip(req.WithContext(deadline.ctx)) //nolint:contextcheck // The deadline's context comes from the request's.
	ended(err == nil)
	if err != nil {
		err = b.heldUp(req, began, b.explain(deadline, err))
		deadline.cancel()
		return nil, err
	}
	if resp.StatusCode < http.StatusInternalServerError {
		b.answered.Store(time.Now().UnixNano())
	}
	passAuthority(req, resp)
	passDate(req, resp)
	capRetryAfter(resp.Header)
	body := &body{ReadCloser: resp.Body, owner: b, deadline: deadline}
	refuse := b.mustBeProtobuf(req, resp, kind)
	isProtobuf := isProtobuf(resp)
	meter := b.meterOf(req, isProtobuf)
	switch {
	case refuse != nil:
		body.exceeds = refuse
	case kind == watch && resp.StatusCode == http.StatusOK:
		deadline.lift()
		body.exceeds = b.ofEvents(req, isProtobuf, resource)
	case kind == list:
		body.exceeds = func(p []byte) error { return b.excess.read(req.URL.Path, resource, p, meter) }
	default:
		body.limit = b.opts.MaxBytes
		body.exceeds = ofOne(meter)
	}
	resp.Body = body
	return resp, nil
}

// CloseIdleConnections serves the http.Client method of this name. Close does more.
func (b *bounded) CloseIdleConnections() { b.connections.pool.CloseIdleConnections() }

// WrappedRoundTripper lets client-go unwrap b.
func (b *bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

func (b *bounded) timeout(req *http.Request, kind requestKind) time.Duration {
	switch {
	case kind != single:
		return b.opts.ListTimeout
	case fenced(req):
		return b.opts.WriteTimeout
	}
	return b.opts.Timeout
}

// heldUp notes in the error of a write without an answer that others were answered in the second half of the time that it
// took. A provider that is away answers none.
func (b *bounded) heldUp(req *http.Request, began time.Time, err error) error {
	var timeout *TimeoutError
	half := began.Add(time.Since(began) / 2)
	if !errors.As(err, &timeout) || !fenced(req) || b.answered.Load() < half.UnixNano() {
		return err
	}
	return &TimeoutError{After: timeout.After, OthersAnswered: true}
}

// explain returns why a request failed if this client ended it. net/http's own error for that varies with the
// protocol and the moment.
func (b *bounded) explain(d *deadline, err error) error {
	var timeout *TimeoutError
	switch {
	case b.connections.closed.Load():
		return ErrClosed
	case errors.As(context.Cause(d.ctx), &timeout):
		return timeout
	}
	return err
}

func capRetryAfter(header http.Header) {
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil && seconds > maxRetryAfter {
		header.Set("Retry-After", strconv.Itoa(maxRetryAfter))
	}
}

// deadline is a context that ends with a *TimeoutError as its cause. Unlike a deadline of context.WithTimeout,
// it can be lifted, and extended when it has come.
type deadline struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	timer *time.Timer
}

// newDeadline returns a deadline after that time. When it has come, more is asked how much more time there is.
func newDeadline(parent context.Context, after time.Duration, more func(taken time.Duration) time.Duration) *deadline {
	ctx, end := context.WithCancelCause(parent)
	d := &deadline{ctx: ctx, end: end}
	d.timer = time.AfterFunc(math.MaxInt64, func() {
		if left := more(after); left > 0 && ctx.Err() == nil {
			after += left
			d.timer.Reset(left)
			return
		}
		end(&TimeoutError{After: after})
	})
	d.timer.Reset(after) // Not before timer is set.
	return d
}

func (d *deadline) lift() { d.timer.Stop() }

func (d *deadline) cancel() {
	d.timer.Stop()
	d.end(nil)
}

// body is the body of an answer, with its limits and its deadline.
type body struct {
	io.ReadCloser
	owner    *bounded
	deadline *deadline
	limit    int64 // in bytes; zero: none
	size     int64
	// exceeds, if set, returns an error if the bytes exceed a limit.
	exceeds func([]byte) error
}

// Read implements io.Reader. Any error, io.EOF too, releases the deadline.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size += int64(n)
	if over := b.size - b.limit; b.limit > 0 && over > 0 {
		b.deadline.cancel()
		return max(0, n-int(over)), &SizeError{Limit: b.limit}
	}
	if b.exceeds != nil {
		if tooMuch := b.exceeds(p[:n]); tooMuch != nil {
			b.deadline.cancel()
			return 0, tooMuch
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.owner.explain(b.deadline, err)
	}
	if err != nil {
		b.deadline.cancel()
	}
	return n, err
}

// Close implements io.Closer. It ends a watch.
func (b *body) Close() error {
	b.deadline.cancel()
	return b.ReadCloser.Close()
}
