package transport

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-io/spillway/internal/retry"
)

func TestFence(t *testing.T) {
	const timeout, write, little = 40 * time.Millisecond, 50 * time.Millisecond, 20 * time.Millisecond
	left := func(d time.Duration, bounded bool) func() (time.Duration, bool) {
		return func() (time.Duration, bool) { return d, bounded }
	}
	// each returns these times, one each time that it is asked.
	each := func(times ...time.Duration) func() (time.Duration, bool) {
		return func() (next time.Duration, _ bool) {
			next, times = times[0], times[1:]
			return next, true
		}
	}
	tests := map[string]struct {
		method string
		left   func() (time.Duration, bool)
		past   bool
		want   error // nil: it is sent, and given up after that time.
		after  time.Duration
	}{
		"a read has all its time":         {http.MethodGet, left(0, true), false, nil, timeout},
		"a write that is not fenced":      {http.MethodPost, nil, false, nil, write},
		"a write that need not be fenced": {http.MethodPost, left(0, false), false, nil, write},
		"a write with time enough":        {http.MethodPatch, left(time.Hour, true), false, nil, write},
		"a write with little time":        {http.MethodPatch, each(little, 0), false, nil, little},
		"and the Lease is renewed":        {http.MethodPatch, each(little, little, -1), false, nil, 2 * little},
		"and it is renewed each time":     {http.MethodPatch, left(little, true), false, nil, write},
		"a write without time":            {http.MethodPost, left(0, true), false, ErrFenced, 0},
		"a deletion too late":             {http.MethodDelete, left(-time.Hour, true), false, ErrFenced, 0},
		"a replacement too late":          {http.MethodPut, left(-1, true), false, ErrFenced, 0},
		"a renewal":                       {http.MethodPatch, left(-1, true), true, nil, timeout},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int32
			server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
				sent.Add(1)
				hang("")(w, r)
			})
			client := newClient(t, configFor(server), Options{Timeout: timeout, WriteTimeout: write, Remaining: test.left})
			ctx := t.Context()
			if test.past {
				ctx = WithoutFence(ctx)
			}
			request, err := http.NewRequestWithContext(ctx, test.method, server.URL+"/api/v1/namespaces/team/pods/web", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if test.want != nil {
				if !errors.Is(err, test.want) || sent.Load() != 0 {
					t.Errorf("got %v, and %d requests were sent; want %v", err, sent.Load(), test.want)
				}
				return
			}
			expectTimeout(t, err, test.after)
		})
	}
}

// TestNoWriteOutlivesTheFence plays all orders of eight renewals, one each 6 seconds, that extend the fence or fail,
// and writes that begin in between and get no answer. Each ends by the time until which the fence was open, or after
// its own timeout. So it has ended when another manager may begin.
func TestNoWriteOutlivesTheFence(t *testing.T) {
	const renewals, every, open, most = 8, 6 * time.Second, 12 * time.Second, 13 * time.Second
	for order := range 1 << renewals {
		for _, began := range []time.Duration{0, time.Second, 5900 * time.Millisecond, 6 * time.Second, 11 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var until atomic.Int64 // Since start.
				until.Store(int64(open))
				opts := Options{Remaining: func() (time.Duration, bool) {
					return time.Duration(until.Load()) - time.Since(start), true
				}}
				for i := range renewals {
					at := time.Duration(i+1)*every - time.Nanosecond
					time.AfterFunc(at, func() {
						if order>>i&1 == 1 && int64(at) < until.Load() { // What has expired is not renewed.
							until.Store(int64(at + open))
						}
					})
				}
				time.Sleep(began)
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://host/api/v1/namespaces", http.NoBody)
				after, err := opts.withinFence(req, most)
				if err != nil {
					t.Fatal(err)
				}
				d := newDeadline(req.Context(), after, func(taken time.Duration) time.Duration {
					left, _ := opts.withinFence(req, most-taken)
					return left
				})
				<-d.ctx.Done()
				ended, closes := time.Since(start), time.Duration(until.Load())
				if ended != min(closes, began+most) {
					t.Errorf("renewals %08b: the write that began at %s ended at %s, and the fence at %s", order, began, ended, closes)
				}
			})
		}
	}
}

// TestWritesThatAreHeldUp checks when a write without an answer tells that the provider is not away.
func TestWritesThatAreHeldUp(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for name, test := range map[string]struct {
		method string
		others bool
		want   bool
	}{
		"a write":                               {http.MethodPost, true, true},
		"a write, and nothing else is answered": {http.MethodPost, false, false},
		"a read":                                {http.MethodGet, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/version" {
					return
				}
				close(begun)
				hang("")(w, r)
			})
			client := newClient(t, configFor(server), Options{Timeout: timeout, WriteTimeout: timeout})
			if _, _, err := get(t, client, server.URL+"/version"); err != nil { // It does not count: the write begins later.
				t.Fatal(err)
			}
			if test.others {
				go func() {
					<-begun
					for t.Context().Err() == nil {
						if response, err := client.Get(server.URL + "/version"); err == nil {
							_ = response.Body.Close()
						}
						time.Sleep(timeout / 10)
					}
				}()
			}
			request, err := http.NewRequestWithContext(t.Context(), test.method, server.URL+"/api/v1/namespaces/team/pods/web", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			expectTimeout(t, err, timeout)
			if got := retry.IsServerError(err); got != test.want {
				t.Errorf("it counts as a server error: %t", got)
			}
			if said := retry.Said(err); (said != "") != test.want || strings.Contains(said, server.URL) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// TestAnsweredMeanwhile: a provider that goes away while it is written to has answered others at first.
func TestAnsweredMeanwhile(t *testing.T) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://eu/api/v1/namespaces/team/pods", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Hour)
	for minute, want := range map[time.Duration]bool{-1: false, 10: false, 50: true} {
		var b bounded
		b.answered.Store(began.Add(minute * time.Minute).UnixNano())
		if got := retry.IsServerError(b.heldUp(request, began, &TimeoutError{After: time.Hour})); got != want {
			t.Errorf("others were answered in minute %d, and it counts as a server error: %t", minute, got)
		}
	}
}
