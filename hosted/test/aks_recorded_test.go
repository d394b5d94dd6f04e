package hosted

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// interaction is a recorded request to AKS, and its answer.
type interaction struct {
	Method, Path      string
	Request, Response object
	Status            int
}

// recordedOfAKS returns what Azure's service operator has recorded of the life of a cluster and of a pool.
func recordedOfAKS(t *testing.T) []interaction {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "aks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var recording struct{ Interactions []interaction }
	if err := json.Unmarshal(text, &recording); err != nil {
		t.Fatal(err)
	}
	if len(recording.Interactions) < 10 {
		t.Fatalf("only %d interactions", len(recording.Interactions))
	}
	return recording.Interactions
}

// TestRecordedAKS sends the recorded requests, and compares the answers. The status must be the same, and
// every field and type must be in the recording. Etags must change exactly where they did in Azure.
func TestRecordedAKS(t *testing.T) {
	cluster := NewAKS(nil)
	cluster.Lax = true
	server := httptest.NewServer(cluster)
	defer server.Close()
	ours, theirs := map[string]string{}, map[string]string{}
	for i, recorded := range recordedOfAKS(t) {
		status, answer := ask(t, server, recorded)
		if status != recorded.Status {
			t.Fatalf("%d: %s %s: got %d, want %d: %v", i, recorded.Method, recorded.Path, status, recorded.Status, answer)
		}
		if recorded.Response == nil || status == http.StatusNotFound {
			continue
		}
		within(t, recorded.Method+" "+recorded.Path, answer, any(recorded.Response))
		want := etags(recorded.Response)
		for place, etag := range etags(answer) {
			if known, seen := theirs[etag]; seen && known != want[place] {
				t.Errorf("%d: %s %s: %s has not changed, as it did in Azure", i, recorded.Method, recorded.Path, place)
			}
			if known, seen := ours[want[place]]; seen && known != etag && want[place] != "" {
				t.Errorf("%d: %s %s: %s has changed, as it did not in Azure", i, recorded.Method, recorded.Path, place)
			}
			theirs[etag], ours[want[place]] = want[place], etag
		}
	}
}

func ask(t *testing.T, server *httptest.Server, recorded interaction) (int, object) {
	t.Helper()
	body, err := json.Marshal(recorded.Request)
	if err != nil {
		t.Fatal(err)
	}
	target := server.URL + aksPath
	if recorded.Path != "" {
		target += "/" + recorded.Path
	}
	request, err := http.NewRequestWithContext(t.Context(), recorded.Method, target+"?api-version=2025-10-02-preview", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer token")
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := decode(t, text).(object)
	return response.StatusCode, answer
}

// etags of a cluster and its pools, or of a pool.
func etags(answer object) map[string]string {
	found := map[string]string{}
	for place, path := range map[string]string{"the cluster's etag": "eTag", "the pool's etag": "properties.eTag"} {
		if etag := cloud.Text(answer, path); etag != "" {
			found[place] = etag
		}
	}
	pools, _ := cloud.Get(answer, "properties.agentPoolProfiles").([]any)
	for _, pool := range pools {
		of := pool.(object)
		if etag := cloud.Text(of, "eTag"); etag != "" {
			found["the etag of "+cloud.Text(of, "name")] = etag
		}
	}
	return found
}

// TestReadRecordedAKS: the client reads what Azure has sent.
func TestReadRecordedAKS(t *testing.T) {
	var shown object
	for _, recorded := range recordedOfAKS(t) {
		if recorded.Path == "" && recorded.Method == http.MethodGet && recorded.Status == http.StatusOK {
			shown = recorded.Response
		}
	}
	cluster, client := newAKS(t)
	cluster.cluster, cluster.pools = shown, map[string]object{}
	for _, pool := range shown["properties"].(object)["agentPoolProfiles"].([]any) {
		profile := pool.(object)
		name := profile["name"].(string)
		cluster.pools[name] = object{"id": aksPath + "/agentPools/" + name, "name": name, "properties": profile}
	}
	want := parse(t, `
resourceGroup: rg
clusterName: shop
resourceLocation: westus3
kubernetesVersion: "1.33"
managedIdentity: true
dnsPrefix: aso
nodeResourceGroup: MC_rg_shop_westus3
networkPlugin: azure
networkPolicy: none
serviceCidr: 10.0.0.0/16
dnsServiceIp: 10.0.0.10
podCidr: 10.244.0.0/16
loadBalancerSku: standard
outboundType: loadBalancer
nodePools:
- {name: ap1, count: 1, mode: System, vmSize: Standard_DS2_v2, osDiskSizeGB: 128, osDiskType: Managed, osType: Linux, maxPods: 250, enableAutoScaling: false, orchestratorVersion: "1.33", maxSurge: 10%}
- {name: ap2, count: 1, mode: System, vmSize: Standard_DS2_v2, osDiskSizeGB: 128, osDiskType: Managed, osType: Linux, maxPods: 250, enableAutoScaling: false, orchestratorVersion: "1.33", maxSurge: 10%}`)
	reading := readOfAKS(t, client)
	if diff := cmp.Diff(want, canonical(t, reading.Config)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !reading.Complete || reading.Busy != "" || reading.UID == "" {
		t.Errorf("got %+v", reading)
	}
}
