package hosted

import (
	"errors"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/option"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
	"github.com/spillway-io/spillway/hosted/merge"
)

const (
	clusterOfGKE = `
name: shop
id: id-1
status: RUNNING
location: europe-west3
currentMasterVersion: 1.32.4-gke.100
resourceLabels: {owner: shop, cost: "7"}
network: default
subnetwork: default
clusterIpv4Cidr: 10.4.0.0/14
addonsConfig: {httpLoadBalancing: {}, networkPolicyConfig: {disabled: true}, dnsCacheConfig: {enabled: true}}
masterAuthorizedNetworksConfig: {enabled: true, gcpPublicCidrsAccessEnabled: true, cidrBlocks: [{cidrBlock: 10.0.0.0/8, displayName: office}]}
loggingService: logging.googleapis.com/kubernetes
monitoringService: monitoring.googleapis.com/kubernetes
networkPolicy: {provider: CALICO}
locations: [europe-west3-a, europe-west3-b]
maintenancePolicy:
  window:
    dailyMaintenanceWindow: {startTime: "03:00", duration: PT4H0M0S}
    maintenanceExclusions: {freeze: {startTime: "2026-12-20T00:00:00Z", endTime: "2027-01-02T00:00:00Z"}}
ipAllocationPolicy: {useIpAliases: true, servicesIpv4CidrBlock: 10.8.0.0/20}
privateClusterConfig: {enablePrivateNodes: true, masterIpv4CidrBlock: 172.16.0.0/28, publicEndpoint: 192.0.2.1}
nodePools:
- name: a
  status: RUNNING
  version: 1.32.4-gke.100
  initialNodeCount: 2
  autoscaling: {locationPolicy: BALANCED}
  management: {autoRepair: true, upgradeOptions: {description: later}}
  maxPodsConstraint: {maxPodsPerNode: "110"}
  config:
    machineType: e2-standard-4
    diskSizeGb: 100
    labels: {tier: web, zone: z}
    taints: [{key: k, value: v, effect: NO_SCHEDULE}]
    oauthScopes: [https://www.googleapis.com/auth/cloud-platform]
    bootDiskKmsKey: projects/p/locations/europe-west3/keyRings/ring/cryptoKeys/key`
	readGKE = `
projectID: p
clusterName: shop
region: europe-west3
kubernetesVersion: 1.32.4-gke.100
labels: {owner: shop, cost: "7"}
network: default
subnetwork: default
clusterIpv4Cidr: 10.4.0.0/14
clusterAddons: {httpLoadBalancing: true, horizontalPodAutoscaling: true, networkPolicyConfig: false}
masterAuthorizedNetworks: {enabled: true, cidrBlocks: [{cidrBlock: 10.0.0.0/8, displayName: office}]}
loggingService: logging.googleapis.com/kubernetes
monitoringService: monitoring.googleapis.com/kubernetes
locations: [europe-west3-a, europe-west3-b]
maintenanceWindow: "03:00"
ipAllocationPolicy: {useIpAliases: true, servicesIpv4CidrBlock: 10.8.0.0/20}
privateClusterConfig: {enablePrivateNodes: true, masterIpv4CidrBlock: 172.16.0.0/28}
customerManagedEncryptionKey: {ringName: ring, keyName: key}
nodePools:
- name: a
  version: 1.32.4-gke.100
  initialNodeCount: 2
  management: {autoRepair: true}
  maxPodsConstraint: 110
  config:
    machineType: e2-standard-4
    diskSizeGb: 100
    labels: {tier: web, zone: z}
    taints: [{key: k, value: v, effect: NO_SCHEDULE}]
    oauthScopes: [https://www.googleapis.com/auth/cloud-platform]
    bootDiskKmsKey: projects/p/locations/europe-west3/keyRings/ring/cryptoKeys/key`
)

// newGKE returns a cluster, its client, and Google's own client, for somebody else.
func newGKE(t *testing.T, config string) (*GKE, *gke.Client, *container.ProjectsLocationsClustersService) {
	t.Helper()
	api, err := APIOfGKE(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := NewGKE(api, parse(t, config))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cluster)
	t.Cleanup(server.Close)
	console, err := container.NewService(t.Context(), option.WithEndpoint(server.URL), option.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	client := &gke.Client{HTTP: server.Client(), Endpoint: server.URL, Cluster: gke.Cluster{Project: "p", Location: "europe-west3", Name: "shop"}}
	return cluster, client, console.Projects.Locations.Clusters
}

func readOfGKE(t *testing.T, client *gke.Client) cloud.Reading {
	t.Helper()
	reading, err := client.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

func TestReadGKE(t *testing.T) {
	cluster, client, _ := newGKE(t, clusterOfGKE)
	reading := readOfGKE(t, client)
	if diff := cmp.Diff(parse(t, readGKE), canonical(t, reading.Config)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !reading.Complete || reading.Busy != "" || reading.UID != "id-1" {
		t.Errorf("got %+v", reading)
	}
	cluster.cluster["status"] = "RECONCILING"
	if reading := readOfGKE(t, client); reading.Busy == "" {
		t.Error("it is not busy while it is RECONCILING")
	}
	client.Name = "other"
	if _, err := client.Read(t.Context()); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("got %v, want that there is none", err)
	}
}

func mergeGKE(t *testing.T, reading cloud.Reading, spec string) merge.Plan {
	t.Helper()
	return merge.Merge(merge.Input{
		Table: gke.Table, Spec: parse(t, spec), Upstream: reading.Config, Published: reading.Config, Versions: reading.Versions, Complete: true,
		Policies: merge.Policies{Exclusive: spec == "nodePools: []"},
	})
}

// TestSendGKE changes one field after the other. Each takes one request, which changes nothing else, not even
// fields that the operator does not know.
func TestSendGKE(t *testing.T) {
	tests := map[string]struct{ spec, change string }{
		"version":             {`kubernetesVersion: 1.33.2-gke.100`, "update"},
		"add-ons":             {`clusterAddons: {networkPolicyConfig: true}`, "update"},
		"an add-on that goes": {`clusterAddons: {horizontalPodAutoscaling: false}`, "update"},
		"networks":            {`masterAuthorizedNetworks: {cidrBlocks: [{cidrBlock: 10.0.0.0/8, displayName: office}, {cidrBlock: 192.0.2.0/24}]}`, "update"},
		"no networks":         {`masterAuthorizedNetworks: {cidrBlocks: []}`, "update"},
		"open networks":       {`masterAuthorizedNetworks: {enabled: false}`, "update"},
		"logging":             {`loggingService: none`, "update"},
		"monitoring":          {`monitoringService: none`, "update"},
		"network policy":      {`networkPolicyEnabled: true`, "setNetworkPolicy"},
		"locations":           {`locations: [europe-west3-c, europe-west3-a]`, "update"},
		"maintenance":         {`maintenanceWindow: "04:30"`, "setMaintenancePolicy"},
		"no maintenance":      {`maintenanceWindow: ""`, "setMaintenancePolicy"},
		"a label":             {`labels: {owner: us}`, "setResourceLabels"},
		"labels that go":      {`labels: {owner: null, cost: null}`, "setResourceLabels"},
		"a pool": {
			`nodePools: [{name: b, version: 1.32.4-gke.100, initialNodeCount: 1, maxPodsConstraint: 64, management: {autoUpgrade: true}, ` +
				`config: {labels: {a: b}, bootDiskKmsKey: projects/p/locations/europe-west3/keyRings/ring/cryptoKeys/key}}]`, "nodePools.create",
		},
		"a pool that goes":    {`nodePools: []`, "nodePools.delete a"},
		"version of a pool":   {`nodePools: [{name: a, version: 1.33.2-gke.100}]`, "nodePools.update a"},
		"size of a pool":      {`nodePools: [{name: a, initialNodeCount: 5}]`, "nodePools.setSize a"},
		"no nodes":            {`nodePools: [{name: a, initialNodeCount: 0}]`, "nodePools.setSize a"},
		"scaling":             {`nodePools: [{name: a, autoscaling: {enabled: true, minNodeCount: 1, maxNodeCount: 4}}]`, "update"},
		"management":          {`nodePools: [{name: a, management: {autoUpgrade: true}}]`, "nodePools.setManagement a"},
		"management that end": {`nodePools: [{name: a, management: {autoRepair: false}}]`, "nodePools.setManagement a"},
		"a label of a pool":   {`nodePools: [{name: a, config: {labels: {tier: db}}}]`, "nodePools.update a"},
		"tags of a pool":      {`nodePools: [{name: a, config: {tags: [x]}}]`, "nodePools.update a"},
		"a taint of a pool":   {`nodePools: [{name: a, config: {taints: [{key: k, value: v, effect: NO_SCHEDULE}, {key: l, value: w, effect: NO_EXECUTE}]}}]`, "nodePools.update a"},
		"no taints":           {`nodePools: [{name: a, config: {taints: []}}]`, "nodePools.update a"},
		"image of a pool":     {`nodePools: [{name: a, config: {imageType: COS_CONTAINERD}}]`, "nodePools.update a"},
		"nodes of a pool":     {`nodePools: [{name: a, config: {machineType: e2-standard-8, diskType: pd-ssd, diskSizeGb: 200}}]`, "nodePools.update a"},
		"labels of a pool":    {`nodePools: [{name: a, config: {labels: {tier: null, zone: null}}}]`, "nodePools.update a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, client, _ := newGKE(t, clusterOfGKE)
			before := readOfGKE(t, client)
			plan := mergeGKE(t, before, test.spec)
			if len(plan.Writes) != 1 {
				t.Fatalf("%d requests: %+v", len(plan.Writes), plan.Writes)
			}
			operation, err := client.Send(t.Context(), before, plan.Writes[0], "")
			if err != nil {
				t.Fatal(err)
			}
			after := readOfGKE(t, client)
			effective := func(config object) any {
				out, _ := full(canonical(t, mergeGKE(t, cloud.Reading{Config: config}, "{}").Effective)).(object)
				// It is the key of all pools, and there may be no pools.
				delete(out, "customerManagedEncryptionKey")
				return out
			}
			if diff := cmp.Diff(effective(plan.Effective), effective(after.Config), noEmpty); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := cluster.Changes(); !slices.Equal(got, []string{test.change}) {
				t.Errorf("requests that change something: %v, want %s", got, test.change)
			}
			if before.Versions[""] == after.Versions[""] {
				t.Error("the cluster has its old etag")
			}
			kept(t, before, after)
			described(t, client, operation, plan.Writes[0].Item)
		})
	}
}

// noEmpty ignores a value that is empty on one side and missing on the other.
var noEmpty = cmp.FilterPath(func(p cmp.Path) bool {
	a, b := p.Last().Values()
	for _, v := range []reflect.Value{a, b} {
		if !v.IsValid() {
			continue
		}
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Map && v.Kind() != reflect.Slice || v.Len() > 0 {
			return false
		}
	}
	return true
}, cmp.Ignore())

// kept checks that fields unknown to the operator are unchanged.
func kept(t *testing.T, before, after cloud.Reading) {
	t.Helper()
	for item, paths := range map[string][]string{
		"": {
			"addonsConfig.dnsCacheConfig.enabled", "masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled",
			"networkPolicy.provider", "maintenancePolicy.window.maintenanceExclusions.freeze.startTime",
		},
		`nodePools["a"]`: {"autoscaling.locationPolicy", "management.upgradeOptions.description", "config.oauthScopes"},
	} {
		for _, path := range paths {
			if after.Raw[item] != nil && !cmp.Equal(cloud.Get(before.Raw[item], path), cloud.Get(after.Raw[item], path)) {
				t.Errorf("%s%s is %v now", item, path, cloud.Get(after.Raw[item], path))
			}
		}
	}
}

// described finds an operation in the list of its object.
func described(t *testing.T, client *gke.Client, id, item string) {
	t.Helper()
	if strings.Contains(item, "nodePools") {
		// An update of the cluster may change the scaling of a pool.
		inCluster, err := client.OperationIDs(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(inCluster, id) {
			item = ""
		}
	}
	ids, err := client.OperationIDs(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids, []string{id}) {
		t.Errorf("the operations are %v, want %s", ids, id)
	}
	operation, err := client.Operation(t.Context(), item, id)
	if err != nil {
		t.Fatal(err)
	}
	if !operation.Done || operation.Failed || operation.Item != item || operation.Created.IsZero() {
		t.Errorf("got %+v", operation)
	}
}
