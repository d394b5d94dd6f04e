package transport

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestBearer replaces the token: a watch that was open goes on over the same connection,
// and every request after that, of streams too, has the new one.
func TestBearer(t *testing.T) {
	more := make(chan struct{})
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr+" "+r.Header.Get("Authorization"))
		if r.URL.Query().Get("watch") == "true" {
			w.(http.Flusher).Flush()
			<-more
			_, _ = io.WriteString(w, " goes on")
		}
	})
	bearer := NewBearer("first")
	opts := Options{Bearer: bearer}
	client := newClient(t, configFor(server), opts)
	_, before, err := get(t, client, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := client.Get(server.URL + "/apis/example.com/v1/pods?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Body.Close() }()
	streams, err := NewStreams(configFor(server), opts)
	if err != nil {
		t.Fatal(err)
	}

	bearer.Set("second")
	_, after, err := get(t, client, server.URL)
	if want := string(before[:len(before)-len("first")]) + "second"; err != nil || string(after) != want {
		t.Errorf("got %q, %v, want %q", after, err, want)
	}
	close(more)
	if got, err := io.ReadAll(watch.Body); err != nil || string(got) != string(before)+" goes on" {
		t.Errorf("the watch got %q, %v", got, err)
	}
	for name, through := range map[string]http.RoundTripper{"logs": streams, "upgrades": upgrading{streams}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := through.RoundTrip(req)
		if err != nil {
			t.Fatal(name, err)
		}
		got, err := io.ReadAll(resp.Body)
		if _ = resp.Body.Close(); err != nil || !strings.HasSuffix(string(got), "Bearer second") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// upgrading sends what the upgrades of streams would.
type upgrading struct{ *Streams }

func (u upgrading) RoundTrip(req *http.Request) (*http.Response, error) {
	wrapped, err := u.Upgrade().WrapRequest(req)
	if err != nil {
		return nil, err
	}
	return u.Upgrade().(http.RoundTripper).RoundTrip(wrapped)
}
