package hosted

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// TestNotFound: only the cloud's answer about this very cluster means that it is gone. Other 404 answers come
// from a wrong subscription, project or address, or from proxies.
func TestNotFound(t *testing.T) {
	const (
		azure  = `{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.ContainerService/managedClusters/Shop' under resource group 'rg' was not found."}}`
		google = `{"error":{"code":404,"status":"NOT_FOUND","message":"Not found: projects/p/locations/europe-west3/clusters/shop."}}`
	)
	tests := map[string]struct {
		cloud, kind, body string
		want              bool
		// field is what the error names.
		field string
	}{
		"AKS: the cluster":            {cloud: "aks", body: azure, want: true},
		"AKS: the resource group":     {cloud: "aks", body: `{"error":{"code":"ResourceGroupNotFound","message":"Resource group 'rg' could not be found."}}`, field: "aksConfig.resourceGroup"},
		"AKS: the subscription":       {cloud: "aks", body: `{"error":{"code":"SubscriptionNotFound","message":"The subscription 'sub' could not be found."}}`, field: "subscription"},
		"AKS: something else":         {cloud: "aks", body: `{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Network/virtualNetworks/shop' was not found."}}`},
		"AKS: a proxy":                {cloud: "aks", body: "<html>404 Not Found</html>"},
		"AKS: nothing":                {cloud: "aks"},
		"GKE: the cluster":            {cloud: "gke", body: google, want: true},
		"GKE: the project":            {cloud: "gke", body: `{"error":{"code":404,"status":"NOT_FOUND","message":"Not found: projects/p."}}`},
		"GKE: one with a longer name": {cloud: "gke", body: `{"error":{"code":404,"status":"NOT_FOUND","message":"Not found: projects/p/locations/l/clusters/shop-2."}}`},
		"GKE: a pool of it":           {cloud: "gke", body: `{"error":{"code":404,"status":"NOT_FOUND","message":"Not found: projects/p/locations/l/clusters/shop/nodePools/a."}}`},
		"GKE: no status":              {cloud: "gke", body: `{"error":{"code":404,"message":"Not found: projects/p/locations/l/clusters/shop."}}`},
		"GKE: a proxy":                {cloud: "gke", body: "<html>clusters/shop</html>"},
		"GKE: nothing":                {cloud: "gke"},
		"EKS: the cluster":            {cloud: "eks", kind: "ResourceNotFoundException", body: `{"message":"No cluster found for name: shop."}`, want: true},
		"EKS: a proxy":                {cloud: "eks", body: "<html>404 Not Found</html>"},
		"EKS: an address without EKS": {cloud: "eks", kind: "UnknownOperationException", body: `{}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.kind != "" {
					w.Header().Set("X-Amzn-Errortype", test.kind)
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, test.body)
			}))
			t.Cleanup(server.Close)
			client := at(t, test.cloud, server)
			if _, err := client.Read(t.Context()); errors.Is(err, cloud.ErrNotFound) != test.want || err == nil {
				t.Errorf("Read: %v", err)
			} else if test.field != "" && (!errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), test.field)) {
				t.Errorf("Read: %v, want that it names %s", err, test.field)
			}
			if source := cloud.SourceOf(client, nil); source != nil {
				if _, err := source.Connection(t.Context()); errors.Is(err, cloud.ErrNotFound) != test.want || err == nil {
					t.Errorf("Connection: %v", err)
				}
			}
			reading := cloud.Reading{Versions: map[string]string{"": "1"}}
			if err := client.Delete(t.Context(), reading, ""); test.cloud != "eks" && (err == nil) != test.want {
				t.Errorf("Delete: %v", err)
			}
		})
	}
}

// at returns the client of the cluster shop in a cloud at another address.
func at(t *testing.T, name string, server *httptest.Server) cloud.Client {
	t.Helper()
	switch name {
	case "aks":
		_, client := newAKS(t)
		client.Pipeline, client.Endpoint = pipelineOf(t, server), server.URL
		return client
	case "gke":
		_, client, _ := newGKE(t, "")
		client.HTTP, client.Endpoint = server.Client(), server.URL
		return client
	default:
		return eksAt(server, "shop")
	}
}

// TestForgottenOperation: an operation that a cloud no longer lists is not in progress.
func TestForgottenOperation(t *testing.T) {
	_, google, _ := newGKE(t, clusterOfGKE)
	_, amazon := newEKS(t)
	for name, operation := range map[string]func(context.Context, string, string) (cloud.Operation, error){"GKE": google.Operation, "EKS": amazon.Operation} {
		if _, err := operation(t.Context(), "", "operation-of-long-ago"); !errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestPoolOfMissingCluster: a cluster is deleted while a pool is being changed. Then Azure does not find the parent of
// the pool. The operation is not in progress, and reading the cluster says that it is gone.
func TestPoolOfMissingCluster(t *testing.T) {
	cluster, client := newAKS(t)
	if operation, err := client.Operation(t.Context(), `nodePools["a"]`, "latest"); err != nil || !operation.Done {
		t.Errorf("got %+v, %v", operation, err)
	}
	cluster.Edit(func(object) object { return nil })
	if _, err := client.Operation(t.Context(), `nodePools["a"]`, "latest"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that it is not found", err)
	}
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("Read: got %v", err)
	}
}
