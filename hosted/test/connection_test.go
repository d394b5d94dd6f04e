package hosted

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
)

// expectConnection compares a connection, and checks that printing it shows no credentials.
func expectConnection(t *testing.T, got cloud.Connection, host, ca, token string) {
	t.Helper()
	if got.Host != host || string(got.CA) != ca || token != "" && got.Token != token {
		t.Errorf("got %s, %s, %s", got.Host, got.CA, got.Token)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, got); got.Token != "" && strings.Contains(text, got.Token) {
			t.Errorf("%s of it shows the token: %s", format, text)
		}
	}
}

func TestConnectionOfEKS(t *testing.T) {
	cluster, client := newEKS(t)
	cluster.cluster["endpoint"] = "https://shop.eks"
	cluster.cluster["certificateAuthority"] = object{"data": base64.StdEncoding.EncodeToString([]byte("ca"))}
	got, err := client.Connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expectConnection(t, got, "https://shop.eks", "ca", "")
	encoded, ok := strings.CutPrefix(got.Token, "k8s-aws-v1.")
	signed, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || !ok {
		t.Fatalf("the token is %q: %v", got.Token, err)
	}
	request, err := url.Parse(string(signed))
	if err != nil {
		t.Fatal(err)
	}
	query := request.Query()
	for key, want := range map[string]string{"Action": "GetCallerIdentity", "X-Amz-Expires": "60", "X-Amz-SignedHeaders": "host;x-k8s-aws-id"} {
		if query.Get(key) != want {
			t.Errorf("%s is %q, want %q", key, query.Get(key), want)
		}
	}
	if request.Scheme != "https" || request.Host != "sts.eu-central-1.amazonaws.com" || query.Get("X-Amz-Signature") == "" || !strings.HasPrefix(query.Get("X-Amz-Credential"), "id/") {
		t.Errorf("it signs %s", signed)
	}
	client.Name = "other"
	if _, err := client.Connection(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that there is none", err)
	}
}

func TestConnectionOfAKS(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://shop.aks:443", certificate-authority-data: %s}}], users: [{name: u, user: {%s}}]}`
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	_, client := newAKS(t)
	var answer string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/managedClusters/shop/listClusterUserCredential") || r.Header.Get("Authorization") != "Bearer token" {
			http.Error(w, `{"error":{"code":"NotFound"}}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"kubeconfigs": []any{object{"name": "clusterUser", "value": encode(answer)}}})
	}))
	t.Cleanup(server.Close)
	client.Pipeline = pipelineOf(t, server)
	client.Endpoint = server.URL

	answer = fmt.Sprintf(kubeconfig, encode("ca"), "token: of-the-cluster, client-certificate-data: "+encode("cert")+", client-key-data: "+encode("key"))
	got, err := client.Connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expectConnection(t, got, "https://shop.aks:443", "ca", "of-the-cluster")
	if string(got.Cert) != "cert" || string(got.Key) != "key" {
		t.Errorf("the certificate is %q, %q", got.Cert, got.Key)
	}

	answer = fmt.Sprintf(kubeconfig, encode("ca"), "exec: {apiVersion: client.authentication.k8s.io/v1, command: kubelogin}")
	if _, err := client.Connection(t.Context()); err == nil || !strings.Contains(err.Error(), "Entra ID") {
		t.Errorf("without an identity: %v", err)
	}
	client.Credential = token{}
	if got, err = client.Connection(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectConnection(t, got, "https://shop.aks:443", "ca", "token")

	answer = "c4narySecret: ["
	if _, err := client.Connection(t.Context()); err == nil || strings.Contains(err.Error(), "c4nary") {
		t.Errorf("no kubeconfig: %v", err)
	}
}

func TestConnectionOfGKE(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of-google" || r.URL.Path != "/v1/projects/p/locations/europe-west1/clusters/shop" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":404,"status":"NOT_FOUND","message":"Not found: projects/p/locations/europe-west1/clusters/other."}}`)
			return
		}
		_ = json.NewEncoder(w).Encode(object{"endpoint": "203.0.113.7", "masterAuth": object{"clusterCaCertificate": base64.StdEncoding.EncodeToString([]byte("ca"))}})
	}))
	t.Cleanup(server.Close)
	access := &gke.Access{
		Tokens: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "of-google"}), HTTP: server.Client(), Endpoint: server.URL,
		Cluster: gke.Cluster{Project: "p", Location: "europe-west1", Name: "shop"},
	}
	got, err := access.Connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expectConnection(t, got, "https://203.0.113.7", "ca", "of-google")
	access.Name = "other"
	if _, err := access.Connection(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that there is none", err)
	}
}
