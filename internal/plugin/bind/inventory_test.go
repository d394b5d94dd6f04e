package bind

import (
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestClusterProfile runs a credential plugin, and reads the identity of a cluster with what it says.
func TestClusterProfile(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer from-the-plugin" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/api/v1":
			_, _ = w.Write([]byte(`{"kind": "APIResourceList", "groupVersion": "v1", "resources": [{"name": "namespaces", "kind": "Namespace", "verbs": ["get"]}]}`))
		case "/api/v1/namespaces/kube-system":
			_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "its-uid"}}`))
		default:
			_, _ = w.Write([]byte(`{}`))
		}
	}))
	defer server.Close()
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, test := range map[string]struct{ offers, plugins, want string }{
		"a plugin":       {"corp", "corp", ""},
		"another plugin": {"corp", "other", "names no access"},
		"no access":      {"", "corp", "names no access"},
		"no file":        {"corp", "", "--clusterprofile-provider-file"},
	} {
		t.Run(name, func(t *testing.T) {
			profile := &unstructured.Unstructured{}
			text := `{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {namespace: fleet, name: eu}, status: {accessProviders: []}}`
			if test.offers != "" {
				text = strings.ReplaceAll(text, "[]", `[{name: `+test.offers+`, cluster: {server: "`+server.URL+`", certificate-authority-data: `+authority+`, tls-server-name: example.com}}]`)
			}
			if err := yaml.Unmarshal([]byte(text), profile); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "plugins.json")
			if test.plugins != "" {
				says := `{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", \"status\": {\"token\": \"from-the-plugin\"}}`
				content := `{"providers": [{"name": "` + test.plugins + `", "execConfig": {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": ["` + says + `"]}}]}`
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			provider, err := connectTo(profile, profileFlags{"fleet/eu", file}, "test")
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if uid, err := provider.UID(t.Context()); err != nil || uid != "its-uid" {
				t.Errorf("got %q, %v", uid, err)
			}
			if at := provider.Endpoint; at.Server != server.URL || at.TLSServerName != "example.com" || len(at.CertificateAuthorityData) == 0 {
				t.Errorf("the address is %+v", at)
			}
		})
	}
}
