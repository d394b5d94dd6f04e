package transport

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// ErrFenced is the error of a changing request that was not sent because another manager
// may be writing by now.
var ErrFenced = errors.New("not sent: the Lease in the provider has not been renewed in time")

// withoutFence is the context key of requests that pass although no time is left.
type withoutFence struct{}

// WithoutFence lets changing requests pass although no time is left: the requests that renew the Lease.
func WithoutFence(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutFence{}, true)
}

// fenced reports whether a request may change something, and is not past the fence.
func fenced(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead && req.Method != http.MethodOptions &&
		req.Context().Value(withoutFence{}) == nil
}

// writing reports the sending of a request.
func (o *Options) writing(req *http.Request) (ended func(answered bool)) {
	if o.Writing == nil || !fenced(req) {
		return func(bool) {}
	}
	return o.Writing()
}

// withinFence shortens the timeout of a request that may change something to the time
// left. With an error, the timeout is 0.
func (o *Options) withinFence(req *http.Request, timeout time.Duration) (time.Duration, error) {
	if o.Remaining == nil || !fenced(req) {
		return timeout, nil
	}
	left, bounded := o.Remaining()
	switch {
	case !bounded:
		return timeout, nil
	case left <= 0:
		return 0, ErrFenced
	default:
		return min(timeout, left), nil
	}
}
