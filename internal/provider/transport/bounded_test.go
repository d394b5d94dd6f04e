package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"
)

func expectTimeout(t *testing.T, err error, after time.Duration) {
	t.Helper()
	var timeout *TimeoutError
	if !errors.As(err, &timeout) || timeout.After != after {
		t.Errorf("got %v, want a timeout after %s", err, after)
	}
}

func TestDeadlines(t *testing.T) {
	const short, long = 20 * time.Millisecond, 40 * time.Millisecond
	const pods = "/apis/example.com/v1/namespaces/team/pods"
	tests := map[string]struct {
		path   string
		server http.HandlerFunc
		want   time.Duration
	}{
		"no answer":                {pods + "/web", hang(""), short},
		"answer without an end":    {pods + "/web", hang("{"), short},
		"list: no answer":          {pods, hang(""), long},
		"list: without an end":     {pods, hang("{"), long},
		"watch that never begins":  {pods + "?watch=true", hang(""), long},
		"watch=false is not watch": {pods + "?watch=false", hang("{"), long},
		"watch of nonsense":        {pods + "/web?watch=maybe", hang("{"), short},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, test.server)
			client := newClient(t, configFor(server), Options{Timeout: short, ListTimeout: long})
			_, _, err := get(t, client, server.URL+test.path)
			expectTimeout(t, err, test.want)
		})
	}
}

func TestTimeoutIsATimeout(t *testing.T) {
	err := &url.Error{Op: "Get", URL: "https://host", Err: &TimeoutError{After: time.Second}}
	var asNet net.Error
	if !errors.Is(err, context.DeadlineExceeded) || !err.Timeout() || !os.IsTimeout(err) || !errors.As(err, &asNet) {
		t.Error("net/http, os or context do not take a TimeoutError for a timeout")
	}
}

func TestDefaults(t *testing.T) {
	var got Options
	got.setDefaults()
	want := Options{
		Timeout: 10 * time.Second, WriteTimeout: 13 * time.Second, ListTimeout: time.Minute, MaxBytes: 8 << 20, MaxListBytes: 256 << 20,
		PingInterval: 10 * time.Second, PingTimeout: 5 * time.Second,
	}
	if got.Wrap != nil || got.Timeout != want.Timeout || got.WriteTimeout != want.WriteTimeout || got.ListTimeout != want.ListTimeout || got.MaxBytes != want.MaxBytes ||
		got.MaxListBytes != want.MaxListBytes || got.PingInterval != want.PingInterval || got.PingTimeout != want.PingTimeout {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A list that begins after the watch, with the same deadline, shows when the watch would
// have ended.
func TestWatchHasNoDeadlineOnceBegun(t *testing.T) {
	goOn := make(chan struct{})
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		if r.URL.Query().Get("watch") == "" {
			<-r.Context().Done()
			return
		}
		<-goOn
		_, _ = io.WriteString(w, "event")
	})
	client := newClient(t, configFor(server), Options{ListTimeout: time.Second})
	resp, err := client.Get(server.URL + "/apis/example.com/v1/pods?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = get(t, client, server.URL+"/apis/example.com/v1/pods")
	expectTimeout(t, err, time.Second)
	close(goOn)
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "event" {
		t.Errorf("the watch ended with %q, %v, want the event", got, err)
	}
}

func TestContextOfTheCallerStillCounts(t *testing.T) {
	server := startServer(t, hang("x"))
	client := newClient(t, configFor(server), Options{})
	for _, path := range []string{"/apis/example.com/v1/pods", "/apis/example.com/v1/pods?watch=true"} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", path, err, context.Canceled)
		}
	}
}

// The server sees a watch end when its body is closed, so nothing of it is left here
// either.
func TestClosingTheBodyEndsTheRequest(t *testing.T) {
	ended := make(chan struct{})
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		hang("x")(w, r)
	})
	client := newClient(t, configFor(server), Options{})
	resp, err := client.Get(server.URL + "/apis/example.com/v1/pods?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	<-resp.Body.(*body).deadline.ctx.Done()
}

func TestSizes(t *testing.T) {
	const single, list = 1000, 3000
	tests := map[string]struct {
		path  string
		size  int
		zip   bool
		limit int64 // zero: none
	}{
		"single at the limit":   {"/apis/example.com/v1/nodes/a", single, false, 0},
		"single over the limit": {"/apis/example.com/v1/nodes/a", single + 1, false, single},
		"list at the limit":     {"/apis/example.com/v1/nodes", list, false, 0},
		"list over the limit":   {"/apis/example.com/v1/nodes", list + 1, false, list},
		"watch":                 {"/apis/example.com/v1/nodes?watch=true", 100 * list, false, 0}, // Its events have a limit.
		"compressed, fits":      {"/apis/example.com/v1/nodes", list, true, 0},
		"compressed, too large": {"/apis/example.com/v1/nodes", 1 << 20, true, list},
		"far over the limit":    {"/version", 10 << 20, false, single},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, answer(test.size, test.zip))
			client := newClient(t, configFor(server), Options{MaxBytes: single, MaxListBytes: list})
			_, got, err := get(t, client, server.URL+test.path)
			var tooBig *SizeError
			var excess *ExcessError
			switch {
			case test.limit == 0 && (err != nil || len(got) != test.size):
				t.Errorf("got %d bytes, %v, want all %d", len(got), err, test.size)
			case test.limit == list:
				if !errors.As(err, &excess) {
					t.Errorf("got %d bytes, %v, want an excess", len(got), err)
				}
			case test.limit != 0 && (!errors.As(err, &tooBig) || tooBig.Limit != test.limit || len(got) != int(test.limit)):
				t.Errorf("got %d bytes, %v, want the limit of %d named", len(got), err, test.limit)
			}
		})
	}
}

func answer(size int, zip bool) http.HandlerFunc {
	content := make([]byte, size)
	return func(w http.ResponseWriter, _ *http.Request) {
		if !zip {
			_, _ = w.Write(content)
			return
		}
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		_, _ = writer.Write(content)
		_ = writer.Close()
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(compressed.Bytes())
	}
}

func TestSizeErrorNamesTheLimit(t *testing.T) {
	for limit, want := range map[int64]string{8 << 20: "the answer is larger than 8 MiB", 1000: "the answer is larger than 1000 bytes"} {
		if got := (&SizeError{Limit: limit}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestHeadersAreBounded(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", string(bytes.Repeat([]byte("a"), 2*maxHeaderBytes)))
	})
	if resp, _, err := get(t, newClient(t, configFor(server), Options{}), server.URL); err == nil {
		t.Errorf("got %s, want an error", resp.Status)
	}
}

func TestRetryAfterIsCapped(t *testing.T) {
	for sent, want := range map[string]string{"1": "1", "5": "5", "6": "5", "86400": "5", "": "", "-1": "-1", "soon": "soon"} {
		server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", sent)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		resp, _, err := get(t, newClient(t, configFor(server), Options{}), server.URL)
		if err != nil || resp.Header.Get("Retry-After") != want {
			t.Errorf("Retry-After %q: got %v, %v, want %q", sent, resp.Header, err, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	tests := map[string]struct {
		method, prefix, path string
		want                 requestKind
	}{
		"pods of a namespace":     {"GET", "/", "/api/v1/namespaces/a/pods", list},
		"pods of all":             {"GET", "/", "/api/v1/pods", list},
		"namespaces":              {"GET", "/", "/api/v1/namespaces", list},
		"trailing slash":          {"GET", "/", "/api/v1/namespaces/", list},
		"a namespace":             {"GET", "/", "/api/v1/namespaces/a", single},
		"a pod":                   {"GET", "/", "/api/v1/namespaces/a/pods/b", single},
		"a pod's status":          {"GET", "/", "/api/v1/namespaces/a/pods/b/status", single},
		"a group's list":          {"GET", "/", "/apis/apps/v1/deployments", list},
		"what pods use":           {"GET", "/", "/apis/metrics.k8s.io/v1beta1/pods", single},
		"the same, behind a path": {"GET", "/k8s/c1/", "/k8s/c1/apis/metrics.k8s.io/v1beta1/pods", single},
		"a group's object":        {"GET", "/", "/apis/apps/v1/namespaces/a/deployments/b", single},
		"discovery":               {"GET", "/", "/api", single},
		"discovery of core":       {"GET", "/", "/api/v1", single},
		"discovery of groups":     {"GET", "/", "/apis", single},
		"discovery of a group":    {"GET", "/", "/apis/apps/v1", single},
		"version":                 {"GET", "/", "/version", single},
		"root":                    {"GET", "/", "/", single},
		"behind a path":           {"GET", "/k8s/c1/", "/k8s/c1/api/v1/pods", list},
		"behind a path, single":   {"GET", "/k8s/c1", "/k8s/c1/api/v1/nodes/a", single},
		"create":                  {"POST", "/", "/api/v1/pods", single},
		"patch":                   {"PATCH", "/", "/api/v1/nodes/a", single},
		"delete":                  {"DELETE", "/", "/api/v1/nodes/a", single},
		"delete of a collection":  {"DELETE", "/", "/api/v1/nodes", list},
		"watch":                   {"GET", "/", "/api/v1/pods?watch=true", watch},
		"watch=1":                 {"GET", "/", "/api/v1/pods?watch=1", watch},
		"watch=0":                 {"GET", "/", "/api/v1/pods?watch=0", list},
		"watch, but a create":     {"POST", "/", "/api/v1/pods?watch=true", single},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(test.method, "https://host"+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := kindOf(req, test.prefix); got != test.want {
				t.Errorf("got %s, want %s", strconv.Itoa(int(got)), strconv.Itoa(int(test.want)))
			}
		})
	}
}
