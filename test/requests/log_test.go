package requests

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLog(t *testing.T) {
	counter := NewCounter()
	ask := func(method, path, accept string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, "https://x"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", accept)
		// The answer cannot be decoded, as with a watch.
		response, err := counter.Wrap("consumer")(&answers{contentType: "application/json", texts: []string{"-"}}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	ask(http.MethodDelete, "/api/v1/namespaces/shop/pods/early", "")
	counter.Keep()
	ask(http.MethodGet, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn", "")
	ask(http.MethodGet, "/api/v1/secrets?watch=true&sendInitialEvents=true&labelSelector=a", metadata)
	ask(http.MethodGet, "/api/v1/secrets?watch=true&resourceVersion=5", "")
	ask(http.MethodPatch, "/api/v1/namespaces/shop/pods/p/status", "")

	of := func(verb, resource, subresource string) Key {
		return Key{"consumer", verb, resource, subresource, Work}
	}
	want := []Request{
		{Key: of(List, "pods", ""), Selector: "spec.nodeName=n", Fills: true},
		{Key: of(Watch, "secrets", ""), Selector: "a metadata", Fills: true},
		{Key: of(Watch, "secrets", "")},
		{Key: of(Patch, "pods", "status"), Namespace: "shop", Name: "p"},
	}
	if diff := cmp.Diff(want, counter.Log()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got := counter.Log(Writes); len(got) != 1 || got[0].String() != "consumer: patch pods/status shop/p" {
		t.Errorf("the writes are %v", got)
	}
}
