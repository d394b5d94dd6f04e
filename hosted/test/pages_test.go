package hosted

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/hosted/clouds/aks"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// TestPages: the client gives up a list that does not end. It requests no page from another server, because
// the request has a token.
func TestPages(t *testing.T) {
	requests, elsewhere := 0, 0
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	next := ""
	cluster, group := NewAKS(parse(t, clusterOfAKS)), NewEKS(parse(t, clusterOfEKS))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch {
		case strings.HasSuffix(r.URL.Path, "/agentPools"):
			fmt.Fprintf(w, `{"nextLink": %q}`, next)
		case strings.HasSuffix(r.URL.Path, "/node-groups"), strings.HasSuffix(r.URL.Path, "/updates"):
			fmt.Fprint(w, `{"nodegroups": [], "updateIds": [], "nextToken": "more"}`)
		case strings.HasPrefix(r.URL.Path, "/clusters"):
			group.ServeHTTP(w, r)
		default:
			cluster.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	next = server.URL + "/agentPools"
	ofAKS := &aks.Client{Pipeline: pipelineOf(t, server), Endpoint: server.URL, Cluster: aks.Cluster{Subscription: "sub", ResourceGroup: "rg", Name: "shop"}}
	ofEKS := eksAt(server, "shop")
	for name, list := range map[string]func() error{
		"AKS":            func() error { _, err := ofAKS.Read(t.Context()); return err },
		"EKS":            func() error { _, err := ofEKS.Read(t.Context()); return err },
		"updates in EKS": func() error { _, err := ofEKS.OperationIDs(t.Context(), ""); return err },
	} {
		requests = 0
		if err := list(); !errors.Is(err, cloud.ErrTooMuch) || requests > 103 {
			t.Errorf("%s: %d requests, got %v", name, requests, err)
		}
	}
	next = other.URL + "/agentPools"
	if _, err := ofAKS.Read(t.Context()); err == nil || elsewhere > 0 {
		t.Errorf("asked %d times elsewhere, got %v", elsewhere, err)
	}
}
