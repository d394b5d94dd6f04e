package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// told collects the errors with which a client ends the connection.
type told struct{ errs []error }

func (t *told) options(limit int64) Options {
	return Options{MaxListBytes: limit, Exceeded: func(err error) { t.errs = append(t.errs, err) }}
}

// expect wants the request and the owner of the client to get the same error.
func (t *told) expect(test *testing.T, err error, reason, message string) {
	test.Helper()
	var excess *ExcessError
	if !errors.As(err, &excess) || excess.Reason != reason || excess.Message != message {
		test.Errorf("got %v, want %s: %s", err, reason, message)
	}
	if len(t.errs) == 0 || !errors.Is(err, t.errs[0]) {
		test.Errorf("the owner was told of %v, want %v", t.errs, err)
	}
	if gotReason, gotMessage := Classify(err); gotReason != reason || gotMessage != message {
		test.Errorf("classified as %s: %s, want %s: %s", gotReason, gotMessage, reason, message)
	}
}

func TestEventsAreBounded(t *testing.T) {
	const protobuf, jsonType = "application/vnd.kubernetes.protobuf;stream=watch", "application/json"
	const ofQuantity = "has a quantity in allocatable of more than 40 characters, or with an exponent beyond 18"
	const larger = "is larger than 4 MiB"
	frame := func(size int) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(size))) + strings.Repeat("a", size)
	}
	tests := map[string]struct {
		contentType string
		event       func(n int) string
		count       int
		tooLarge    bool
		want        string
	}{
		"many of Protobuf":        {protobuf, func(int) string { return frame(1 << 20) }, 12, false, ""},
		"the largest of Protobuf": {protobuf, func(int) string { return frame(maxEventBytes) }, 2, false, ""},
		"too large of Protobuf":   {protobuf, func(n int) string { return frame(maxEventBytes*n/2 + 2*n) }, 3, true, larger},
		"many of JSON":            {jsonType, func(int) string { return `{"a":"` + strings.Repeat("}{", 1<<19) + "\"}\n" }, 12, false, ""},
		"JSON without an end": {jsonType, func(n int) string {
			return strings.Repeat(`{"a":"\"}","b":[{},`, max(0, 1-n)) + strings.Repeat("{},\n", 1<<19)
		}, 3, true, "takes more than 64 MiB of memory"},
		"text without an end":      {jsonType, func(n int) string { return strings.Repeat(`"`, max(0, 1-n)) + strings.Repeat("}", 1<<20) }, 6, true, larger},
		"blanks without an end":    {jsonType, func(int) string { return strings.Repeat("\n", 1<<20) }, 6, true, larger},
		"a type that nobody knows": {"text/plain", func(int) string { return strings.Repeat("x", 1<<20) }, 6, true, larger},
		"empty containers of Protobuf": {protobuf, func(int) string {
			body := string(emptyContainers(1 << 20))
			return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
		}, 1, true, "takes more than 64 MiB of memory"},
		"a quantity of Protobuf": {protobuf, func(int) string {
			body := string(hugeQuantity())
			return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body
		}, 1, true, ofQuantity},
		"Protobuf that is not said": {"", func(int) string { return frame(6 << 20) }, 1, true, larger},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := "/api/v1/pods"
			if test.contentType != protobuf {
				path = "/apis/example.com/v1/pods" // A custom resource.
			}
			server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				for n := range test.count {
					_, _ = io.WriteString(w, test.event(n))
				}
			})
			owner := &told{}
			client := newClient(t, configFor(server), owner.options(1000))
			_, _, err := get(t, client, server.URL+path+"?watch=true")
			if !test.tooLarge {
				if err != nil || len(owner.errs) > 0 {
					t.Errorf("got %v, and told was %v", err, owner.errs)
				}
				return
			}
			owner.expect(t, err, v1alpha1.ReasonTooLarge, "an event of the watch of pods "+test.want)
		})
	}
}

func field(number int, content []byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(number<<3 | 2)}, uint64(len(content))), content...)
}

// object is one of the core API with that content, and added an event about it.
func object(kind string, content []byte) []byte {
	meta := append(field(1, []byte("v1")), field(2, []byte(kind))...)
	return append([]byte("k8s\x00"), append(field(1, meta), field(2, content)...)...)
}

func added(object []byte) []byte {
	return append(field(1, []byte("ADDED")), field(2, field(1, object))...)
}

// emptyContainers is an event about a pod with that many of them.
func emptyContainers(count int) []byte {
	return added(object("Pod", field(2, bytes.Repeat(field(2, nil), count))))
}

// hugeQuantity is one about a node with it: decoding would take seconds.
func hugeQuantity() []byte { return added(object("Node", node())) }

func node() []byte {
	cpu := append(field(1, []byte("cpu")), field(2, field(1, []byte("11111111111111111111e10000000")))...)
	return field(3, field(2, cpu))
}

// TestWhatAListTakesIsBounded: half a megabyte that would take more than a hundred once
// decoded, as a list and as another answer.
func TestWhatAListTakesIsBounded(t *testing.T) {
	for name, test := range map[string]struct{ path, contentType, body, want string }{
		"of Protobuf": {"/api/v1/pods", "application/vnd.kubernetes.protobuf",
			"k8s\x00\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x80\x80\x20" + strings.Repeat("\x12\x00", 1<<18),
			"a list of pods takes more than 4 MiB of memory: raise spec.budget.memory, or delete unneeded objects in the provider"},
		"of JSON": {"/apis/example.com/v1/pods", "application/json", `{"items":[` + strings.Repeat("{},", 1<<18),
			"a list of pods takes more than 4 MiB of memory: raise spec.budget.memory, or delete unneeded objects in the provider"},
		"of what is said to be YAML": {"/apis/example.com/v1/pods", "application/yaml", `{"items":[` + strings.Repeat("{},", 1<<18),
			"a list of pods takes more than 4 MiB of memory: raise spec.budget.memory, or delete unneeded objects in the provider"},
		"a pod": {"/apis/example.com/v1/namespaces/n/pods/web", "", `{"spec":{"containers":[` + strings.Repeat("{},", 1<<18),
			"an answer takes more than 64 MiB of memory"},
		"nodes of Protobuf with a quantity": {"/api/v1/nodes", "application/vnd.kubernetes.protobuf", string(object("NodeList", field(2, node()))),
			"a list of nodes has a quantity in allocatable of more than 40 characters, or with an exponent beyond 18"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{test.contentType}
				_, _ = io.WriteString(w, test.body)
			})
			options := (&told{}).options(1 << 20)
			client := newClient(t, configFor(server), options)
			resp, _, err := get(t, client, server.URL+test.path)
			if reason, message := Classify(err); reason != v1alpha1.ReasonTooLarge || message != test.want {
				t.Errorf("got %s: %s, want %s", reason, message, test.want)
			}
			if resp != nil && test.contentType != "application/vnd.kubernetes.protobuf" && resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("it would be decoded as %q", resp.Header.Get("Content-Type"))
			}
		})
	}
}

// TestOnlyProtobuf has answers in JSON: of kinds with a Go type none is decoded, unless it is
// an error.
func TestOnlyProtobuf(t *testing.T) {
	const node = `{"kind":"Node","apiVersion":"v1","status":{"capacity":{"cpu":"11111111111111111111e10000000"}}}`
	const inJSON, unknown = "the provider answers in JSON, although the manager asks for Protobuf; a proxy in front of it must pass on the header Accept", notKubernetes
	for name, test := range map[string]struct {
		path, body string
		status     int
		want       string
		ends       bool // The connection.
	}{
		"a list":                        {"/api/v1/nodes", `{"items":[]}`, 200, inJSON, true},
		"a watch":                       {"/api/v1/nodes?watch=true", `{"type":"ADDED"}`, 200, inJSON, true},
		"an object":                     {"/apis/discovery.k8s.io/v1/namespaces/n/endpointslices/web", `{}`, 201, inJSON, false},
		"of unknown version":            {"/apis/discovery.k8s.io/v9/namespaces/n/endpointslices/web", `{}`, 200, inJSON, false},
		"what pods use":                 {"/apis/metrics.k8s.io/v1beta1/pods", `{"items":[]}`, 200, inJSON, false},
		"nothing":                       {"/api/v1/nodes/a", "", 200, "", false},
		"an error":                      {"/api/v1/nodes/a", `{"kind":"Status","apiVersion":"v1","code":404}`, 404, "", false},
		"the version":                   {"/version", `{"major":"1"}`, 200, "", false},
		"resources":                     {"/apis/apps/v1", `{"resources":[]}`, 200, "", false},
		"a custom resource":             {"/apis/example.com/v1/webs", `{"kind":"WebList","items":[{"kind":"Node"}]}`, 200, "", false},
		"an error that is a node":       {"/api/v1/nodes/a", node, 500, unknown, false},
		"a version that is a node":      {"/version", node, 200, unknown, false},
		"custom resources that are one": {"/apis/example.com/v1/webs", node, 200, unknown, true},
		"an event about one":            {"/apis/example.com/v1/webs?watch=true", `{"type":"ADDED","object":` + node + `}`, 200, unknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			owner := &told{}
			_, _, err := get(t, newClient(t, configFor(server), owner.options(1<<20)), server.URL+test.path)
			if _, message := Classify(err); message != test.want || len(owner.errs) > 0 != test.ends {
				t.Errorf("got %q, want %q; told was %v", message, test.want, owner.errs)
			}
		})
	}
}

// TestMapsComeInJSON: what is decoded as maps has no Go type, and so no Protobuf.
func TestMapsComeInJSON(t *testing.T) {
	const node = `{"kind":"Node","apiVersion":"v1","status":{"capacity":{"cpu":"11111111111111111111e10000000"}}}`
	for accept, refused := range map[string]bool{
		"application/json": false,
		"application/vnd.kubernetes.protobuf,application/json": true,
		"": true,
	} {
		server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, node)
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/nodes/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := newClient(t, configFor(server), (&told{}).options(1<<20)).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if (err != nil) != refused {
			t.Errorf("asked for %q: %v, want it refused: %t", accept, err, refused)
		}
	}
}

func TestPagesAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		page string
		most int
		want string
	}{
		"of nothing": {"", maxPages, fmt.Sprintf("a list of pods does not end: it has more than %d pages", maxPages)},
		"of much":    {strings.Repeat("a", 1000), 4, "a list of pods is larger than 5000 bytes: raise spec.budget.memory, or delete unneeded objects in the provider"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.page) })
			owner := &told{}
			client := newClient(t, configFor(server), owner.options(5000))
			url := server.URL + "/apis/example.com/v1/pods?limit=500"
			for range 3 { // Each list begins anew.
				for _, page := range []string{"", "&continue=a", "&continue=b"} {
					if _, _, err := get(t, client, url+page); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, _, err := get(t, client, url); err != nil {
				t.Fatal(err)
			}
			for range test.most {
				if _, _, err := get(t, client, url+"&continue=a"); err != nil {
					t.Fatal(err)
				}
			}
			_, _, err := get(t, client, url+"&continue=a")
			owner.expect(t, err, v1alpha1.ReasonTooLarge, test.want)
		})
	}
}

// TestPagesThatNobodyCollects: such a list may have any size, and a page that is too large ends only its request.
func TestPagesThatNobodyCollects(t *testing.T) {
	size := 3000
	server := startServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("a", size)) })
	owner := &told{}
	options := owner.options(5000)
	options.MaxBytes = 4000
	client := newClient(t, configFor(server), options)
	page := func() error {
		req, err := http.NewRequestWithContext(WithPages(t.Context()), http.MethodGet, server.URL+"/apis/example.com/v1/pods?limit=500&continue=a", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return err
	}
	for range 4 {
		if err := page(); err != nil {
			t.Fatal(err)
		}
	}
	size = 5000
	var tooLarge *SizeError
	if err := page(); !errors.As(err, &tooLarge) || len(owner.errs) > 0 {
		t.Errorf("a page of %d bytes: %v, and the owner was told of %v", size, err, owner.errs)
	}
}

func TestRestartsAreBounded(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	owner := &told{}
	client := newClient(t, configFor(server), owner.options(5000))
	began := 0
	var err error
	for ; err == nil && began <= 10*restartBurst; began++ {
		_, _, err = get(t, client, server.URL+"/api/v1/pods?watch=true")
	}
	if began < restartBurst {
		t.Errorf("refused after %d watches", began)
	}
	owner.expect(t, err, v1alpha1.ReasonUnreachable, "the provider ends lists and watches as soon as they begin, including those of pods")
	if _, _, err := get(t, client, server.URL+"/api/v1/pods/web"); err != nil {
		t.Errorf("what is neither list nor watch: %v", err)
	}
}
