package admission

import (
	"net/http"
	"testing"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// schemaOf returns the name of the FlowSchema of a request. Most of the requests are refused, which does not matter here.
func schemaOf(t *testing.T, namespace, account, method, path string) string {
	t.Helper()
	config := server(t).accountConfig(namespace, account)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := httpClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	schemas := &flowcontrolv1.FlowSchemaList{}
	if err := server(t).List(t.Context(), schemas); err != nil {
		t.Fatal(err)
	}
	for _, schema := range schemas.Items {
		if string(schema.UID) == answer.Header.Get("X-Kubernetes-PF-FlowSchema-UID") {
			return schema.Name
		}
	}
	return ""
}

// TestPriorities tests which requests have the shipped priority levels: heartbeats and renewals of Leases, and no others.
func TestPriorities(t *testing.T) {
	const system, leases, renewals, heartbeats, others = "spillway-system", "/apis/coordination.k8s.io/v1/namespaces/", "spillway-leases", "spillway-heartbeats", "service-accounts"
	const renewed, status = leases + v1alpha1.ProviderNamespace + "/leases/x", "/api/v1/nodes/x/status"
	// An API server takes a moment to use new FlowSchemas.
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if schemaOf(t, v1alpha1.ProviderNamespace, shippedAccount, http.MethodGet, renewed) == renewals && schemaOf(t, system, "spillway-manager", http.MethodPatch, status) == heartbeats {
			break
		}
	}
	for name, test := range map[string]struct{ namespace, account, method, path, want string }{
		"a consumer's Lease":               {v1alpha1.ProviderNamespace, shippedAccount, http.MethodGet, renewed, renewals},
		"a second consumer's Lease":        {v1alpha1.ProviderNamespace, "another", http.MethodPatch, renewed, renewals},
		"all Leases, by a consumer":        {v1alpha1.ProviderNamespace, shippedAccount, http.MethodGet, "/apis/coordination.k8s.io/v1/leases", others},
		"a Lease elsewhere, by a consumer": {v1alpha1.ProviderNamespace, shippedAccount, http.MethodGet, leases + "kube-system/leases/x", others},
		"pods, by a consumer":              {v1alpha1.ProviderNamespace, shippedAccount, http.MethodGet, "/api/v1/pods", others},
		"a consumer's Lease, by another":   {metav1.NamespaceDefault, "default", http.MethodGet, renewed, others},
		"a virtual node's Lease":           {system, "spillway-manager", http.MethodGet, leases + "kube-node-lease/leases/x", heartbeats},
		"a virtual node's status":          {system, "spillway-manager", http.MethodPatch, status, heartbeats},
		"a virtual node":                   {system, "spillway-manager", http.MethodPatch, "/api/v1/nodes/x", others},
		"a pod's status":                   {system, "spillway-manager", http.MethodPatch, "/api/v1/namespaces/default/pods/x/status", others},
		"a node's status, by another":      {system, "another", http.MethodPatch, status, others},
	} {
		t.Run(name, func(t *testing.T) {
			if got := schemaOf(t, test.namespace, test.account, test.method, test.path); got != test.want {
				t.Errorf("the FlowSchema is %q, want %q", got, test.want)
			}
		})
	}
}
