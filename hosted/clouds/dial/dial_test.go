package dial

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// TestChangesAreSentOnce: the clouds' libraries do not repeat a request that changes something. Its answer may have
// been lost after it was carried out.
func TestChangesAreSentOnce(t *testing.T) {
	aks := cluster("2", "", "s")
	aks.Spec.EKSConfig, aks.Spec.AKSConfig = nil, &v1alpha1.AKSConfig{ResourceGroup: "rg", ClusterName: "a"}
	tests := map[string]struct {
		h      *v1alpha1.HostedCluster
		config map[string]any
	}{
		"EKS": {cluster("1", "a", "s"), map[string]any{"serviceRole": "arn:r", "subnets": []any{"s"}}},
		"AKS": {aks, map[string]any{"dnsPrefix": "a", "nodePools": []any{map[string]any{"name": "a"}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			changes := 0
			var server *httptest.Server
			server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.Method == http.MethodGet:
					fmt.Fprintf(w, `{"token_endpoint":"%[1]s/token","authorization_endpoint":"%[1]s/authorize","issuer":"%[1]s/t/v2.0"}`, server.URL)
				case r.URL.Path == "/token":
					fmt.Fprint(w, `{"token_type":"Bearer","expires_in":3600,"access_token":"t"}`)
				default:
					changes++
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}))
			defer server.Close()
			with := secret("s", "1")
			for _, key := range []string{"tenantID", "subscriptionID", "clientID", "clientSecret"} {
				with.Data[key] = []byte("t")
			}
			d := &Dialer{Transport: server.Client().Transport, EKS: server.URL, EC2: server.URL, AKS: server.URL, Entra: server.URL}
			client, err := d.Client(t.Context(), test.h, with)
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Create(t.Context(), test.config, "token"); err == nil || changes != 1 {
				t.Errorf("sent %d times: %v", changes, err)
			}
		})
	}
}

func cluster(uid, name, secret string) *v1alpha1.HostedCluster {
	h := &v1alpha1.HostedCluster{}
	h.UID = types.UID(uid)
	h.Spec.EKSConfig = &v1alpha1.EKSConfig{Region: "r", DisplayName: name}
	h.Spec.Credentials.SecretRef = &v1alpha1.SecretReference{Name: secret}
	return h
}

func secret(name, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}, Data: map[string][]byte{
		"accessKeyID": []byte("id"), "secretAccessKey": []byte("secret"),
	}}
}

// TestClientIsMadeAnew: a client serves one cluster with one set of credentials. It is kept while neither
// changes.
func TestClientIsMadeAnew(t *testing.T) {
	tests := map[string]struct {
		h    *v1alpha1.HostedCluster
		with *corev1.Secret
		same bool
	}{
		"nothing has changed":                     {cluster("1", "a", "s"), secret("s", "1"), true},
		"the Secret has":                          {cluster("1", "a", "s"), secret("s", "2"), false},
		"another Secret":                          {cluster("1", "a", "t"), secret("t", "1"), false},
		"another cluster in the cloud":            {cluster("1", "b", "s"), secret("s", "1"), false},
		"another object, with all else as it was": {cluster("2", "a", "s"), secret("s", "1"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &Dialer{}
			first, err := d.Client(t.Context(), cluster("1", "a", "s"), secret("s", "1"))
			if err != nil {
				t.Fatal(err)
			}
			next, err := d.Client(t.Context(), test.h, test.with)
			if err != nil {
				t.Fatal(err)
			}
			if (first == next) != test.same {
				t.Errorf("it is the same client: %v", first == next)
			}
		})
	}
}

// TestLimitIsOfCredentials: only clusters with the same credentials share a limit.
func TestLimitIsOfCredentials(t *testing.T) {
	role := func(uid, arn string) *v1alpha1.HostedCluster {
		h := cluster(uid, "a", "")
		h.Spec.Credentials = v1alpha1.Credentials{WorkloadIdentity: &v1alpha1.WorkloadIdentity{Identity: arn}}
		return h
	}
	d := &Dialer{}
	if d.limit(cluster("1", "a", "s")) != d.limit(cluster("2", "b", "s")) || d.limit(role("1", "x")) != d.limit(role("2", "x")) {
		t.Error("the same credentials have two limits")
	}
	if d.limit(cluster("1", "a", "s")) == d.limit(cluster("1", "a", "t")) || d.limit(role("1", "x")) == d.limit(role("1", "y")) {
		t.Error("two credentials share a limit")
	}
}
