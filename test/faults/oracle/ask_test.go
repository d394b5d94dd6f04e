package oracle

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/requests"
)

// inProtobuf encodes an object as a client sends and receives objects of the core API.
func inProtobuf(t *testing.T, obj runtime.Object, kind string) []byte {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	scheme := manager.Scheme()
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestParseAsk(t *testing.T) {
	namespace := inProtobuf(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "Namespace")
	options := inProtobuf(t, &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions("u")}, "DeleteOptions")
	for name, test := range map[string]struct {
		method, url string
		body        []byte
		want        Ask
		writes      bool
	}{
		"reads":    {method: "GET", url: "/api/v1/namespaces/a"},
		"dry run":  {method: "POST", url: "/api/v1/namespaces?dryRun=All"},
		"leases":   {method: "PUT", url: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/a"},
		"creates":  {"POST", "/api/v1/namespaces", namespace, Ask{Verb: requests.Create, Resource: "namespaces", Name: "a"}, true},
		"deletes":  {"DELETE", "/api/v1/namespaces/a/pods/b", options, Ask{Verb: requests.Delete, Resource: "pods", Namespace: "a", Name: "b"}, true},
		"patches":  {"PATCH", "/api/v1/namespaces/a/pods/b/status", []byte(`{}`), Ask{Verb: requests.Patch, Resource: "pods", Subresource: "status", Namespace: "a", Name: "b"}, true},
		"a parts":  {"PATCH", "/api/v1/namespaces/a/status", []byte(`{}`), Ask{Verb: requests.Patch, Resource: "namespaces", Subresource: "status", Name: "a"}, true},
		"of ours":  {"PATCH", "/apis/offloading.spillway.io/v1alpha1/clusterbindings/a", []byte(`{}`), Ask{Verb: requests.Patch, Resource: "clusterbindings", Name: "a"}, true},
		"no group": {method: "POST", url: "/version"},
	} {
		t.Run(name, func(t *testing.T) {
			ask, writes := parseAsk("", httptest.NewRequest(test.method, test.url, nil), test.body)
			if name == "deletes" && (!ask.letsGo() || ask.text("preconditions", "uid") != "u") {
				t.Errorf("a deletion in protobuf is read as %v", ask.Body)
			}
			ask.Body = nil
			if diff := cmp.Diff(test.want, ask); writes && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if writes != test.writes {
				t.Errorf("it writes: %v, want %v", writes, test.writes)
			}
		})
	}
}

func TestAnswered(t *testing.T) {
	for name, body := range map[string][]byte{
		"an object in JSON":     []byte(`{"kind":"Pod","metadata":{"uid":"u"}}`),
		"a status in JSON":      []byte(`{"kind":"Status","status":"Success","details":{"uid":"u"}}`),
		"an object in protobuf": inProtobuf(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, "Pod"),
		"a status in protobuf":  inProtobuf(t, &metav1.Status{Details: &metav1.StatusDetails{UID: "u"}}, "Status"),
	} {
		if got := answered(body); got != "u" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := answered([]byte("nothing")); got != "" {
		t.Errorf("got %q out of nothing", got)
	}
}

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestWitnessHandsAllOn(t *testing.T) {
	l := &Ledger{deleted: map[string][]types.UID{}, lane: Lane{Clusters: nil}}
	l.lane.Clusters = append(l.lane.Clusters, nil)
	var sent []byte
	next := answers(func(r *http.Request) (*http.Response, error) {
		sent, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader([]byte(`{"kind":"Pod","metadata":{"uid":"u"}}`)))}, nil
	})
	body := []byte(`{"preconditions":{"uid":"u"}}`)
	r := httptest.NewRequest("DELETE", "/api/v1/namespaces/a/pods/b", bytes.NewReader(body))
	response, err := l.WrapNamed("p1", next).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, _ := io.ReadAll(response.Body)
	if !bytes.Equal(sent, body) || !bytes.Contains(got, []byte(`"uid":"u"`)) {
		t.Errorf("sent %s, got %s", sent, got)
	}
	if diff := cmp.Diff(map[string][]types.UID{"p1": {"u"}}, l.deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
