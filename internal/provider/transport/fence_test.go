package transport

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestFence(t *testing.T) {
	const timeout, little = 40 * time.Millisecond, 20 * time.Millisecond
	left := func(d time.Duration, bounded bool) func() (time.Duration, bool) {
		return func() (time.Duration, bool) { return d, bounded }
	}
	tests := map[string]struct {
		method string
		left   func() (time.Duration, bool)
		past   bool
		want   error // nil: it is sent, and given up after that time.
		after  time.Duration
	}{
		"a read has all its time":         {http.MethodGet, left(0, true), false, nil, timeout},
		"a write that is not fenced":      {http.MethodPost, nil, false, nil, timeout},
		"a write that need not be fenced": {http.MethodPost, left(0, false), false, nil, timeout},
		"a write with time enough":        {http.MethodPatch, left(time.Hour, true), false, nil, timeout},
		"a write with little time":        {http.MethodPatch, left(little, true), false, nil, little},
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
			client := newClient(t, configFor(server), Options{Timeout: timeout, Remaining: test.left})
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
