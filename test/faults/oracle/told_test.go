package oracle

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TestTold creates a pod twice through one connection of a manager. The API server answers as the test case
// says.
func TestTold(t *testing.T) {
	made := object("Pod", "team-a-c0", "web", marked)
	for name, test := range map[string]struct {
		// first is the answer to the first creation. there are the objects that exist before the second.
		first  int
		there  []any
		want   []string
		others bool // Another manager sends the second creation.
	}{
		"it is there":                   {first: http.StatusCreated, there: []any{made.Object}, want: []string{"p1: Pod team-a-c0/web is made again by a manager that was told that it had made it"}},
		"it is gone":                    {first: http.StatusCreated},
		"another one is there":          {first: http.StatusCreated, there: []any{changed(made, uid("another")).Object}},
		"the mark was taken off it":     {first: http.StatusCreated, there: []any{object("Pod", "team-a-c0", "web").Object}},
		"it was not told":               {first: http.StatusGatewayTimeout, there: []any{made.Object}},
		"another manager does not know": {first: http.StatusCreated, there: []any{made.Object}, others: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{}, "items": test.there})
			}))
			defer server.Close()
			client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			l := &Ledger{origin: origin, eyes: []*eye{newEye("p1", schema.GroupVersionResource{Version: "v1", Resource: "pods"}, client)}}
			body, err := json.Marshal(made.Object)
			if err != nil {
				t.Fatal(err)
			}
			next := answers(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: test.first, Body: io.NopCloser(bytes.NewReader(body))}, nil
			})
			manager := l.WrapOuter("p1", next)
			for range 2 {
				r := httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/team-a-c0/pods", bytes.NewReader(body))
				response, err := manager.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := io.ReadAll(response.Body); !bytes.Equal(got, body) {
					t.Errorf("the manager gets %s", got)
				}
				_ = response.Body.Close()
				if test.others {
					manager = l.WrapOuter("p1", next)
				}
			}
			if diff := cmp.Diff(test.want, l.findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
