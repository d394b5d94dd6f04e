package hosted

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	armpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/policy"
	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/hosted/clouds/aks"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
)

const (
	clusterOfAKS = `
id: /subscriptions/sub/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/shop
location: westeurope
tags: {owner: shop, cost: "7"}
identity: {type: SystemAssigned}
sku: {name: Base, tier: Standard}
properties:
  provisioningState: Succeeded
  kubernetesVersion: 1.32.4
  dnsPrefix: shop
  nodeResourceGroup: MC_rg
  aFieldOfTomorrow: {a: 1}
  apiServerAccessProfile: {authorizedIPRanges: [10.0.0.0/8], enablePrivateCluster: false, another: x}
  addonProfiles: {httpApplicationRouting: {enabled: false}, azurepolicy: {enabled: true}}
  networkProfile: {networkPlugin: azure, serviceCidr: 10.0.0.0/16, dnsServiceIP: 10.0.0.10, loadBalancerSku: standard, outboundType: loadBalancer}
  linuxProfile: {adminUsername: azure, ssh: {publicKeys: [{keyData: ssh-rsa}]}}`
	poolOfAKS = `
id: /pools/a
name: a
properties:
  provisioningState: Succeeded
  count: 2
  mode: System
  osType: Linux
  vmSize: Standard_D4s_v5
  orchestratorVersion: 1.32.4
  vnetSubnetID: /subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s
  nodeLabels: {tier: web, zone: z}
  nodeTaints: ["a=b:NoSchedule", "c=d:NoSchedule"]
  upgradeSettings: {maxSurge: 10%, drainTimeoutInMinutes: 30}
  aFieldOfTomorrow: 7`
	readAKS = `
resourceGroup: rg
clusterName: shop
resourceLocation: westeurope
tags: {owner: shop, cost: "7"}
managedIdentity: true
kubernetesVersion: 1.32.4
dnsPrefix: shop
nodeResourceGroup: MC_rg
authorizedIpRanges: [10.0.0.0/8]
privateCluster: false
httpApplicationRouting: false
networkPlugin: azure
serviceCidr: 10.0.0.0/16
dnsServiceIp: 10.0.0.10
loadBalancerSku: standard
outboundType: loadBalancer
linuxAdminUsername: azure
sshPublicKey: ssh-rsa
virtualNetworkResourceGroup: net
virtualNetwork: v
subnet: s
nodePools:
- name: a
  count: 2
  mode: System
  osType: Linux
  vmSize: Standard_D4s_v5
  orchestratorVersion: 1.32.4
  vnetSubnetID: /subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s
  nodeLabels: {tier: web, zone: z}
  nodeTaints: ["a=b:NoSchedule", "c=d:NoSchedule"]
  maxSurge: 10%`
)

type token struct{}

func (token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// newAKS returns a cluster, and a client that uses Azure's own pipeline.
func newAKS(t *testing.T) (*AKS, *aks.Client) {
	t.Helper()
	cluster := NewAKS(parse(t, clusterOfAKS), parse(t, poolOfAKS))
	server := httptest.NewTLSServer(cluster)
	t.Cleanup(server.Close)
	return cluster, &aks.Client{Pipeline: pipelineOf(t, server), Endpoint: server.URL, Cluster: aks.Cluster{Subscription: "sub", ResourceGroup: "rg", Name: "shop"}}
}

// pipelineOf is Azure's own pipeline to a server.
func pipelineOf(t *testing.T, server *httptest.Server) azruntime.Pipeline {
	t.Helper()
	pipeline, err := armruntime.NewPipeline("test", "v1", token{}, azruntime.PipelineOptions{}, &armpolicy.ClientOptions{
		DisableRPRegistration: true,
		ClientOptions: policy.ClientOptions{
			Transport: server.Client(), Retry: policy.RetryOptions{MaxRetries: -1},
			Cloud: azcloud.Configuration{Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
				azcloud.ResourceManager: {Endpoint: server.URL, Audience: server.URL},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return pipeline
}

func readOfAKS(t *testing.T, client *aks.Client) cloud.Reading {
	t.Helper()
	reading, err := client.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

func TestReadAKS(t *testing.T) {
	_, client := newAKS(t)
	reading := readOfAKS(t, client)
	if diff := cmp.Diff(parse(t, readAKS), canonical(t, reading.Config)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	client.Name = "other"
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that there is none", err)
	}
}

func mergeAKS(t *testing.T, reading cloud.Reading, spec string) merge.Plan {
	t.Helper()
	return merge.Merge(merge.Input{
		Table: aks.Table, Spec: parse(t, spec), Upstream: reading.Config, Published: reading.Config, Versions: reading.Versions, Complete: true,
		Policies: merge.Policies{Exclusive: spec == "nodePools: []" || spec == "nodePools: [{name: b}]"},
	})
}

// TestSendAKS changes one field after the other. Each takes one request, which changes nothing else, not even
// fields that the operator does not know.
func TestSendAKS(t *testing.T) {
	tests := map[string]struct{ spec, change string }{
		"version":           {`kubernetesVersion: 1.33.2`, "PUT"},
		"a tag":             {`tags: {owner: us}`, "PUT"},
		"tags that go":      {`tags: {owner: null, cost: null}`, "PUT"},
		"ranges":            {`authorizedIpRanges: [192.0.2.0/24]`, "PUT"},
		"no ranges":         {`authorizedIpRanges: []`, "PUT"},
		"routing":           {`httpApplicationRouting: true`, "PUT"},
		"monitoring":        {`{monitoring: true, logAnalyticsWorkspaceGroup: g, logAnalyticsWorkspaceName: w}`, "PUT"},
		"a pool":            {`nodePools: [{name: b, count: 1, vmSize: Standard_D2s_v5, mode: User, vnetSubnetID: own}]`, "PUT /agentPools/b"},
		"a pool that goes":  {`nodePools: [{name: b}]`, "DELETE /agentPools/a"},
		"count":             {`nodePools: [{name: a, count: 5}]`, "PUT /agentPools/a"},
		"scaling":           {`nodePools: [{name: a, enableAutoScaling: true, minCount: 1, maxCount: 4}]`, "PUT /agentPools/a"},
		"version of a pool": {`nodePools: [{name: a, orchestratorVersion: 1.33.2}]`, "PUT /agentPools/a"},
		"a label":           {`nodePools: [{name: a, nodeLabels: {tier: db}}]`, "PUT /agentPools/a"},
		"labels that go":    {`nodePools: [{name: a, nodeLabels: {tier: null, zone: null}}]`, "PUT /agentPools/a"},
		"a taint":           {`nodePools: [{name: a, nodeTaints: ["a=b:NoSchedule"]}]`, "PUT /agentPools/a"},
		"no taints":         {`nodePools: [{name: a, nodeTaints: []}]`, "PUT /agentPools/a"},
		"surge":             {`nodePools: [{name: a, maxSurge: 33%}]`, "PUT /agentPools/a"},
		"mode":              {`nodePools: [{name: a, mode: User}]`, "PUT /agentPools/a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client := newAKS(t)
			if name == "a pool that goes" {
				// A cluster has at least one.
				cluster.pools["b"] = parse(t, strings.Replace(poolOfAKS, "name: a", "name: b", 1))
			}
			before := readOfAKS(t, client)
			plan := mergeAKS(t, before, test.spec)
			if len(plan.Writes) != 1 {
				t.Fatalf("%d requests: %+v", len(plan.Writes), plan.Writes)
			}
			if _, err := client.Send(t.Context(), before, plan.Writes[0], ""); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Send(t.Context(), before, plan.Writes[0], ""); err != nil != (test.change != "DELETE /agentPools/a") {
				t.Errorf("the same request once more, after a crash: %v", err)
			}
			after := readOfAKS(t, client)
			if diff := cmp.Diff(canonical(t, mergeAKS(t, cloud.Reading{Config: plan.Effective}, "{}").Effective), canonical(t, mergeAKS(t, after, "{}").Effective), noEmpty); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := cluster.Changes(); !slices.Equal(got, []string{test.change}) {
				t.Errorf("requests that change something: %v, want %s", got, test.change)
			}
			for path, raw := range after.Raw {
				if old := before.Raw[path]; old != nil && old["properties"].(object)["aFieldOfTomorrow"] == nil != (raw["properties"].(object)["aFieldOfTomorrow"] == nil) {
					t.Errorf("%q has lost a field", path)
				}
			}
			if maps.Equal(before.Versions, after.Versions) {
				t.Error("no version has changed")
			}
		})
	}
}

// TestOthersInAKS: a request does not overwrite another user's change since the read, and is not sent without
// a version.
func TestOthersInAKS(t *testing.T) {
	cluster, client := newAKS(t)
	before := readOfAKS(t, client)
	for _, spec := range []string{"tags: {owner: console}", "nodePools: [{name: a, count: 9}]"} {
		if _, err := client.Send(t.Context(), before, mergeAKS(t, before, spec).Writes[0], ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, spec := range []string{"tags: {cost: null}", "nodePools: [{name: a, maxSurge: 33%}]", "nodePools: []"} {
		if _, err := client.Send(t.Context(), before, mergeAKS(t, before, spec).Writes[0], ""); !errors.Is(err, cloud.ErrBusy) {
			t.Errorf("%s: got %v, want that it has changed", spec, err)
		}
	}
	write := mergeAKS(t, readOfAKS(t, client), "tags: {cost: null}").Writes[0]
	write.Version = ""
	cluster.Before = func(r *http.Request) { t.Errorf("%s %s is sent without a version", r.Method, r.URL) }
	if _, err := client.Send(t.Context(), before, write, ""); !errors.Is(err, cloud.ErrNoVersion) {
		t.Errorf("got %v, want that there is no version", err)
	}
}

func TestLifeOfAKS(t *testing.T) {
	cluster, client := newAKS(t)
	cluster.cluster, cluster.pools = nil, map[string]object{}
	for field, spec := range map[string]string{
		"nodePools": `dnsPrefix: shop`, "dnsPrefix": `nodePools: [{name: a}]`,
		"managedIdentity": `{dnsPrefix: shop, nodePools: [{name: a}], managedIdentity: false}`,
	} {
		if err := client.Create(t.Context(), parse(t, spec), ""); !errors.Is(err, cloud.ErrRefused) || !strings.Contains(err.Error(), "aksConfig."+field) {
			t.Errorf("got %v, want that %s is refused", err, field)
		}
	}
	want := parse(t, readAKS)
	// The second time is after a crash.
	for range 2 {
		if err := client.Create(t.Context(), want, ""); err != nil {
			t.Fatal(err)
		}
	}
	reading := readOfAKS(t, client)
	if diff := cmp.Diff(want, canonical(t, reading.Config)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// A new pool gets the subnet of the others.
	write := mergeAKS(t, reading, "nodePools: [{name: b, count: 1}]")
	for _, w := range write.Writes {
		if _, err := client.Send(t.Context(), reading, w, ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := cloud.Text(readOfAKS(t, client).Raw[`nodePools["b"]`], "properties.vnetSubnetID"); !strings.HasSuffix(got, "/virtualNetworks/v/subnets/s") {
		t.Errorf("the new pool is in %q", got)
	}
	if _, err := client.Send(t.Context(), reading, mergeAKS(t, reading, "tags: {owner: console}").Writes[0], ""); err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), reading, ""); !errors.Is(err, cloud.ErrBusy) {
		t.Errorf("got %v, want that it has changed", err)
	}
	if err := client.Delete(t.Context(), cloud.Reading{}, ""); !errors.Is(err, cloud.ErrNoVersion) {
		t.Errorf("got %v, want that there is no version", err)
	}
	reading = readOfAKS(t, client)
	for range 2 {
		// The second time is after a crash.
		if err := client.Delete(t.Context(), reading, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that it has gone", err)
	}
}
