package performance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReactions delivers events through a watch, and then sends a write.
func TestReactions(t *testing.T) {
	const (
		change       = `{"type":"MODIFIED","object":{}}` + "\n"
		mark         = `{"type":"BOOKMARK","object":{}}` + "\n"
		framed       = "application/vnd.kubernetes.protobuf;stream=watch"
		framedChange = "\x00\x00\x00\x10\x0a\x08MODIFIED\x12\x04abcd"
		framedMark   = "\x00\x00\x00\x10\x0a\x08BOOKMARK\x12\x04abcd"
	)
	for what, test := range map[string]struct {
		contentType, events string
		want                int
	}{
		"nothing":                     {"application/json", "", 0},
		"a change":                    {"application/json", change, 1},
		"a bookmark":                  {"application/json", mark, 0},
		"a bookmark, and a change":    {"application/json", mark + change, 1},
		"a change, and a bookmark":    {"application/json", change + mark, 1},
		"a change, and then a change": {"application/json", change + change, 1},
		"a framed change":             {framed, framedChange, 1},
		"framed bookmarks":            {framed, framedMark + framedMark, 0},
		"a framed change afterwards":  {framed, framedMark + framedChange, 1},
		"a framed bookmark later":     {framed, framedChange + framedMark, 1},
	} {
		t.Run(what, func(t *testing.T) {
			r := newReactions(consumer)
			answers := roundTripper(func(*http.Request) (*http.Response, error) {
				// One byte at a time, so that events arrive in several parts.
				return &http.Response{
					Header: http.Header{"Content-Type": {test.contentType}}, Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(test.events))),
				}, nil
			})
			ask := func(cluster, method, url string) {
				response, err := r.wrap(cluster, answers).RoundTrip(httptest.NewRequest(method, url, http.NoBody))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if _, err := io.ReadAll(response.Body); err != nil {
					t.Fatal(err)
				}
			}
			ask("p1", http.MethodGet, "/api/v1/pods?watch=true") // Nobody expects that change.
			r.expect()
			ask("p1", http.MethodGet, "/api/v1/pods") // Not a watch.
			ask("p1", http.MethodGet, "/api/v1/pods?watch=true")
			ask(consumer, http.MethodPatch, "/api/v1/nodes/a/status") // Not a pod.
			ask(consumer, http.MethodPatch, "/api/v1/namespaces/a/pods/b/status")
			ask(consumer, http.MethodPatch, "/api/v1/namespaces/a/pods/b/status") // It counts once.
			if _, samples := r.timing(); samples != test.want {
				t.Errorf("%d samples, want %d", samples, test.want)
			}
		})
	}
}
