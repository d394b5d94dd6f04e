package requests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func TestParse(t *testing.T) {
	const nsos = "/apis/offloading.spillway.io/v1alpha1/namespaces/shop/namespaceoffloadings"
	for what, test := range map[string]struct {
		method, url string
		want        request
		class       Class
	}{
		"a namespace":             {"GET", "/api/v1/namespaces/shop", request{verb: Get, resource: "namespaces", name: "shop"}, Work},
		"a probe":                 {"GET", "/api/v1/namespaces/kube-system", request{verb: Get, resource: "namespaces", name: "kube-system"}, Probes},
		"deleting a namespace":    {"DELETE", "/api/v1/namespaces/shop", request{verb: Delete, resource: "namespaces", name: "shop"}, Work},
		"a namespace's status":    {"PUT", "/api/v1/namespaces/shop/status", request{verb: Update, resource: "namespaces", subresource: "status", name: "shop"}, Work},
		"finalizing a namespace":  {"PUT", "/api/v1/namespaces/shop/finalize", request{verb: Update, resource: "namespaces", subresource: "finalize", name: "shop"}, Work},
		"a pod's status":          {"PATCH", "/api/v1/namespaces/shop/pods/p/status", request{verb: Patch, resource: "pods", subresource: "status", namespace: "shop", name: "p"}, Work},
		"evicting a pod":          {"POST", "/api/v1/namespaces/shop/pods/p/eviction", request{verb: Create, resource: "pods", subresource: "eviction", namespace: "shop", name: "p"}, Work},
		"creating":                {"POST", nsos, request{verb: Create, resource: "namespaceoffloadings", namespace: "shop"}, Work},
		"creating without effect": {"POST", nsos + "?dryRun=All", request{verb: Create, resource: "namespaceoffloadings", namespace: "shop", dryRun: true}, Work},
		"listing":                 {"GET", nsos + "?limit=500", request{verb: List, resource: "namespaceoffloadings", namespace: "shop"}, Work},
		"watching":                {"GET", nsos + "?watch=true", request{verb: Watch, resource: "namespaceoffloadings", namespace: "shop"}, Work},
		"watching in Go":          {"GET", "/api/v1/nodes?watch=1", request{verb: Watch, resource: "nodes"}, Work},
		"deleting all":            {"DELETE", nsos, request{verb: DeleteCollection, resource: "namespaceoffloadings", namespace: "shop"}, Work},
		"a lease":                 {"PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n", request{verb: Update, resource: "leases", namespace: "kube-node-lease", name: "n"}, Leases},
		"an event":                {"POST", "/apis/events.k8s.io/v1/namespaces/default/events", request{verb: Create, resource: "events", namespace: "default"}, Events},
		"a review of access":      {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", request{verb: Create, resource: "subjectaccessreviews"}, Probes},
		"a review of a token":     {"POST", "/apis/authentication.k8s.io/v1/tokenreviews", request{verb: Create, resource: "tokenreviews"}, Probes},
		"the version":             {"GET", "/version", request{verb: Get, resource: "/version"}, Discovery},
		"a group's resources":     {"GET", "/apis/apps/v1", request{verb: Get, resource: "/apis/apps/v1"}, Discovery},
		"the core resources":      {"GET", "/api/v1", request{verb: Get, resource: "/api/v1"}, Discovery},
	} {
		t.Run(what, func(t *testing.T) {
			got := parse(httptest.NewRequest(test.method, test.url, nil))
			if got != test.want || got.class() != test.class {
				t.Errorf("parse() = %+v, class %s; want %+v, class %s", got, got.class(), test.want, test.class)
			}
		})
	}
}

func TestWhatABindingRemembersIsOfItsLease(t *testing.T) {
	for what, test := range map[string]struct {
		path, body string
		want       Class
	}{
		"a generation":         {"clusterbindings/eu/status", `{"metadata":{"resourceVersion":"7"},"status":{"holder":{"generation":2}}}`, Leases},
		"more than that":       {"clusterbindings/eu/status", `{"status":{"holder":{"generation":2},"kubernetesVersion":"v1"}}`, Work},
		"nothing":              {"clusterbindings/eu/status", `{"metadata":{"resourceVersion":"7"}}`, Work},
		"something else":       {"clusterbindings/eu/status", `{"status":{"kubernetesVersion":"v1"}}`, Work},
		"a spec":               {"clusterbindings/eu", `{"status":{"holder":{"generation":2}}}`, Work},
		"something of another": {"namespacemaps/eu/status", `{"status":{"holder":{"generation":2}}}`, Work},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://x/apis/offloading.spillway.io/v1alpha1/"+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := Parse(r).Class; got != test.want {
				t.Errorf("got class %s, want %s", got, test.want)
			}
		})
	}
}

// answers is a transport that answers each request with the next of its texts.
type answers struct {
	contentType string
	texts       []string
}

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	text := a.texts[0]
	a.texts = a.texts[1:]
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.contentType}}}
	switch text {
	case "broken":
		return nil, errors.New("connection reset")
	case "conflict":
		response.StatusCode = http.StatusConflict
	}
	response.Body = io.NopCloser(strings.NewReader(text))
	return response, nil
}

func version(rv string) string {
	return fmt.Sprintf(`{"kind":"NamespaceMap","metadata":{"name":"eu","resourceVersion":%q}}`, rv)
}

func TestNoOps(t *testing.T) {
	const path = "/apis/offloading.spillway.io/v1alpha1/namespacemaps/eu"
	for what, test := range map[string]struct {
		sent     []string // Each is the body of a patch.
		received []string
		want     Count
	}{
		"every write changes something":                {[]string{`{}`, `{}`}, []string{version("1"), version("2")}, Count{Requests: 2, BytesSent: 4}},
		"the version stays that of the last answer":    {[]string{`{}`, `{}`}, []string{version("1"), version("1")}, Count{Requests: 2, NoOps: 1, BytesSent: 4}},
		"the version stays the one it was locked to":   {[]string{version("7")}, []string{version("7")}, Count{Requests: 1, NoOps: 1, BytesSent: int64(len(version("7")))}},
		"a refused write changes nothing, and says so": {[]string{`{}`, `{}`}, []string{version("1"), "conflict"}, Count{Requests: 2, Failed: 1, BytesSent: 4}},
		"the last finalizer goes, and the object with it": {[]string{version("7")}, []string{
			`{"kind":"NamespaceMap","metadata":{"name":"eu","resourceVersion":"7","deletionTimestamp":"2026-01-02T03:04:05Z"}}`,
		}, Count{Requests: 1, BytesSent: int64(len(version("7")))}},
		"no answer":                       {[]string{`{}`}, []string{"broken"}, Count{Requests: 1, Failed: 1, BytesSent: 2}},
		"a Status tells of no object":     {[]string{`{}`, `{}`}, []string{`{"kind":"Status","metadata":{}}`, `{"kind":"Status","metadata":{}}`}, Count{Requests: 2, BytesSent: 4}},
		"a JSON patch has no version":     {[]string{`[]`}, []string{version("1")}, Count{Requests: 1, BytesSent: 2}},
		"an answer that cannot be parsed": {[]string{`{}`}, []string{"<html>"}, Count{Requests: 1, BytesSent: 2}},
	} {
		t.Run(what, func(t *testing.T) {
			counter := NewCounter()
			client := counter.Wrap("consumer")(&answers{contentType: "application/json", texts: test.received})
			for i, body := range test.sent {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://x"+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				response, err := client.RoundTrip(request)
				if err != nil {
					continue
				}
				if got, _ := io.ReadAll(response.Body); string(got) != test.received[i] {
					t.Errorf("the caller gets %q, want %q", got, test.received[i])
				}
			}
			if got := counter.Figures().Sum(Writes); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if _, times := counter.Figures().MostWrites(func(o Object) bool { return o.Name == "eu" }); times != len(test.sent) {
				t.Errorf("the map was written %d times, want %d", times, len(test.sent))
			}
		})
	}
}

// TestProtobuf talks to a server as the manager does with built-in kinds.
func TestProtobuf(t *testing.T) {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_ = encoder.Encode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "5"}}, w)
	}))
	defer server.Close()
	counter := NewCounter()
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}}
	config.Wrap(counter.Wrap("consumer"))
	client := kubernetes.NewForConfigOrDie(config)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "4"}}
	update := func(ctx context.Context) {
		t.Helper()
		if _, err := client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	update(t.Context()) // 4 → 5
	node.ResourceVersion = "5"
	update(t.Context()) // 5 → 5
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"5"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	got := counter.Figures().Sum()
	if got.Requests != 3 || got.NoOps != 2 {
		t.Errorf("got %+v, want 3 requests of which 2 changed nothing", got)
	}
}

func TestFigures(t *testing.T) {
	counter := NewCounter()
	note := func(cluster, verb, resource, subresource, name string) {
		counter.note(cluster, request{verb: verb, resource: resource, subresource: subresource, name: name}, outcome{})
	}
	note("consumer", Patch, "namespacemaps", "", "eu")
	note("consumer", Patch, "leases", "", "n")
	before := counter.Figures()
	for range 2 {
		note("consumer", Patch, "namespacemaps", "status", "eu")
	}
	note("consumer", Patch, "namespacemaps", "status", "asia")
	note("consumer", Watch, "namespacemaps", "", "")
	note("eu", Create, "namespaces", "", "shop")

	during := counter.Figures().Since(before)
	want := []Row{
		{Key{"consumer", Patch, "namespacemaps", "status", Work}, Count{Requests: 3}},
		{Key{"eu", Create, "namespaces", "", Work}, Count{Requests: 1}},
	}
	if diff := cmp.Diff(want, during.Rows(Finite)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for what, test := range map[string]struct {
		filters []Filter
		want    int
	}{
		"all":               {nil, 5},
		"writes":            {[]Filter{Writes}, 4},
		"work of a cluster": {[]Filter{OnlyWork, Cluster("eu")}, 1},
		"a subresource":     {[]Filter{Resource("namespacemaps"), Subresource("status")}, 3},
		"all but a verb":    {[]Filter{Not(Verb(Patch))}, 2},
	} {
		if got := during.Sum(test.filters...).Requests; got != test.want {
			t.Errorf("%s: %d requests, want %d", what, got, test.want)
		}
	}
	object, times := during.MostWrites(func(o Object) bool { return o.Resource == "namespacemaps" })
	if object.Name != "eu" || times != 2 {
		t.Errorf("most writes: %v, %d times; want eu, twice", object, times)
	}
}
