package performance

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHistogram(t *testing.T) {
	h := func(total uint64, counts ...uint64) histogram {
		return histogram{bounds: []float64{0.001, 0.002, 0.004}[:len(counts)], counts: counts, total: total}
	}
	for what, test := range map[string]struct {
		histogram
		p50, p99 string
	}{
		"of none":                  {h(0, 0, 0, 0), "–", "–"},
		"without buckets":          {h(0), "–", "–"},
		"all in the first":         {h(9, 9, 9, 9), "1.0", "1.0"},
		"half in the first":        {h(100, 50, 98, 100), "1.0", "4.0"},
		"exactly 99 of 100":        {h(100, 49, 99, 100), "2.0", "2.0"},
		"some beyond the last":     {h(100, 60, 97, 98), "1.0", "> 4"},
		"most beyond the last":     {h(100, 1, 2, 3), "> 4", "> 4"},
		"of these, since those":    {h(100, 60, 97, 98).since(h(90, 60, 88, 88)), "2.0", "4.0"},
		"since there were not any": {h(1, 0, 1, 1).since(h(0)), "2.0", "2.0"},
	} {
		t.Run(what, func(t *testing.T) {
			got := test.reaction()
			if got.P50.milliseconds() != test.p50 || got.P99.milliseconds() != test.p99 {
				t.Errorf("got %s and %s, want %s and %s", got.P50.milliseconds(), got.P99.milliseconds(), test.p50, test.p99)
			}
		})
	}
}

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
			if got := r.quantiles(); got.Samples != test.want {
				t.Errorf("%d samples, want %d", got.Samples, test.want)
			}
		})
	}
}

func TestReactionBounds(t *testing.T) {
	if err := (Reaction{Samples: 200}).Broken(200); err != nil {
		t.Error(err)
	}
	for _, samples := range []int{0, 199, 201} {
		if err := (Reaction{Samples: samples}).Broken(200); err == nil {
			t.Errorf("%d samples of 200 are no error", samples)
		}
	}
}
