package transport

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhatAnAnswerIsCalled(t *testing.T) {
	const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for name, test := range map[string]struct {
		status     int
		says, want string
		protobuf   bool
	}{
		"Protobuf":             {200, "application/vnd.kubernetes.protobuf;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch", true},
		"JSON":                 {200, discovery, discovery, false},
		"text":                 {200, "text/plain", "application/json", false},
		"text of an error":     {502, "text/html", "text/html", false},
		"YAML":                 {200, "application/yaml", "application/json", false},
		"YAML of an error":     {500, "application/yaml", "application/json", false},
		"CBOR":                 {200, "application/cbor", "application/json", false},
		"nothing":              {200, "", "application/json", false},
		"nothing of an error":  {500, "", "application/json", false},
		"what cannot be read":  {200, "application/vnd.kubernetes.protobuf;a", "application/json", false},
		"Protobuf of an error": {403, "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf", true},
	} {
		t.Run(name, func(t *testing.T) {
			resp := &http.Response{StatusCode: test.status, Header: http.Header{"Content-Type": {test.says}}}
			if got := isProtobuf(resp); got != test.protobuf || resp.Header.Get("Content-Type") != test.want {
				t.Errorf("%t, and it is called %q; want %t, %q", got, resp.Header.Get("Content-Type"), test.protobuf, test.want)
			}
		})
	}
}

// TestTextOfRoutes: routes are asked for in JSON, and are no maps, so no other kind may come in
// their place.
func TestTextOfRoutes(t *testing.T) {
	for path, routes := range map[string]bool{
		"/apis/gateway.networking.k8s.io/v1/httproutes":                     true,
		"/prefix/apis/gateway.networking.k8s.io/v1/namespaces/a/grpcroutes": true,
		"/apis/metrics.k8s.io/v1beta1/pods":                                 false,
	} {
		prefix := ""
		if strings.HasPrefix(path, "/prefix") {
			prefix = "/prefix"
		}
		req := httptest.NewRequest(http.MethodGet, path, nil)
		req.Header.Set("Accept", "application/json, */*")
		if got := (&bounded{prefix: prefix}).text(req); got.Routes != routes || got.AnyKind == routes {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
