package transport

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// ErrFenced is the error of a request that would change something, and that was
// not sent, because another manager may be writing by now.
var ErrFenced = errors.New("not sent: the Lease in the provider has not been renewed in time")

// pastTheFence is the key of a context whose requests need no time left.
type pastTheFence struct{}

// PastTheFence lets requests pass that change something, though there is no time
// left: those by which it is renewed.
func PastTheFence(ctx context.Context) context.Context {
	return context.WithValue(ctx, pastTheFence{}, true)
}

// fenced reports whether a request may change something, and is not one by which
// time is won.
func fenced(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead && req.Method != http.MethodOptions &&
		req.Context().Value(pastTheFence{}) == nil
}

// writing tells of a request that is sent.
func (o *Options) writing(req *http.Request) (ended func(answered bool)) {
	if o.Writing == nil || !fenced(req) {
		return func(bool) {}
	}
	return o.Writing()
}

// withinFence shortens the time-out of a request that may change something to the
// time that is left.
func (o *Options) withinFence(req *http.Request, timeout time.Duration) (time.Duration, error) {
	if o.Left == nil || !fenced(req) {
		return timeout, nil
	}
	left, bounded := o.Left()
	switch {
	case !bounded:
		return timeout, nil
	case left <= 0:
		return 0, ErrFenced
	default:
		return min(timeout, left), nil
	}
}
