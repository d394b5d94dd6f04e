package requests

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTarget(t *testing.T) {
	const nsos = "/apis/offloading.spillway.io/v1alpha1/namespaceoffloadings"
	for what, test := range map[string]struct {
		method, url, body string
		want              Target
	}{
		"a creation is named by its body": {
			http.MethodPost, "/api/v1/namespaces/shop/pods", `{"metadata":{"name":"web"}}`,
			Target{Verb: Create, Resource: "pods", Namespace: "shop", Name: "web", Class: Work},
		},
		"a part is named by its path": {
			http.MethodPost, "/api/v1/namespaces/shop/pods/web/eviction", `{"metadata":{"name":"other"}}`,
			Target{Verb: Create, Resource: "pods", Subresource: "eviction", Namespace: "shop", Name: "web", Class: Work},
		},
		"another group": {
			http.MethodPatch, nsos[:len("/apis/offloading.spillway.io/v1alpha1/")] + "namespacemaps/eu?dryRun=All", `[]`,
			Target{Verb: Patch, Resource: "namespacemaps", Group: "offloading.spillway.io", Name: "eu", Class: Work, DryRun: true},
		},
		"a watch": {
			http.MethodGet, nsos + "?watch=true&sendInitialEvents=true", "",
			Target{Verb: Watch, Resource: "namespaceoffloadings", Group: "offloading.spillway.io", Class: Work, Initial: true},
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := httptest.NewRequest(test.method, test.url, strings.NewReader(test.body))
			client, err := http.NewRequestWithContext(t.Context(), test.method, r.URL.String(), strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			client.Header.Set("Content-Type", "application/json")
			if diff := cmp.Diff(test.want, Parse(client)); diff != "" {
				t.Errorf("Parse() (-want +got):\n%s", diff)
			}
		})
	}
}
