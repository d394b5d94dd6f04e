package hosted

import (
	"errors"
	"testing"

	"github.com/spillway-io/spillway/hosted/clouds/aks"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	"github.com/spillway-io/spillway/hosted/clouds/gke"
	"github.com/spillway-io/spillway/hosted/merge"
)

// TestAddonsOfAKS: the names of add-ons stay in the case in which Azure has them.
func TestAddonsOfAKS(t *testing.T) {
	cluster, client := newAKS(t)
	cluster.Edit(func(c object) object {
		set(c, "properties", "addonProfiles", object{"omsAgent": object{"enabled": true, "config": object{
			"logAnalyticsWorkspaceResourceID": "/subscriptions/sub/resourceGroups/logs/providers/Microsoft.OperationalInsights/workspaces/w",
		}}})
		return c
	})
	reading := readOfAKS(t, client)
	if reading.Config["monitoring"] != true || reading.Config["logAnalyticsWorkspaceGroup"] != "logs" {
		t.Errorf("read are %v", reading.Config)
	}
	if _, err := client.Send(t.Context(), reading, mergeAKS(t, reading, "monitoring: false").Writes[0], ""); err != nil {
		t.Fatal(err)
	}
	after, _ := cloud.Get(cluster.cluster, "properties.addonProfiles").(object)
	if len(after) != 1 || cloud.Get(after, "omsAgent.enabled") != false {
		t.Errorf("the add-ons are %v", after)
	}
}

// TestWorkspaceOfAKS: a workspace without a group is in the group of the cluster.
func TestWorkspaceOfAKS(t *testing.T) {
	_, client := newAKS(t)
	reading := readOfAKS(t, client)
	if _, err := client.Send(t.Context(), reading, mergeAKS(t, reading, "{monitoring: true, logAnalyticsWorkspaceName: w}").Writes[0], ""); err != nil {
		t.Fatal(err)
	}
	if after := readOfAKS(t, client).Config; after["logAnalyticsWorkspaceName"] != "w" || after["logAnalyticsWorkspaceGroup"] != "rg" {
		t.Errorf("read are %v", after)
	}
}

// TestFixedSizeInAKS: a pool that stops scaling itself loses its limits, which AKS accepts only with scaling.
func TestFixedSizeInAKS(t *testing.T) {
	cluster, client := newAKS(t)
	for name, value := range map[string]any{"enableAutoScaling": true, "minCount": 1, "maxCount": 4} {
		set(cluster.pools["a"], "properties", name, value)
	}
	reading := readOfAKS(t, client)
	if _, err := client.Send(t.Context(), reading, mergeAKS(t, reading, "nodePools: [{name: a, enableAutoScaling: false, count: 3}]").Writes[0], ""); err != nil {
		t.Fatal(err)
	}
	if after := cluster.pools["a"]["properties"].(object); after["minCount"] != nil || after["enableAutoScaling"] != false {
		t.Errorf("it is %v", after)
	}
}

// TestNetworkPolicyOfGKE: the add-on is enabled before the nodes use it, and disabled after them.
func TestNetworkPolicyOfGKE(t *testing.T) {
	cluster, client, _ := newGKE(t, clusterOfGKE)
	cluster.Edit(func(c object) object {
		set(c, "networkPolicy", "enabled", true)
		set(c, "addonsConfig", "networkPolicyConfig", object{"disabled": false})
		return c
	})
	const spec = "{clusterAddons: {networkPolicyConfig: false}, networkPolicyEnabled: false}"
	reading := readOfGKE(t, client)
	writes := mergeGKE(t, reading, spec).Writes
	if _, err := client.Send(t.Context(), reading, writes[0], ""); len(writes) != 2 || !errors.Is(err, cloud.ErrBusy) {
		t.Fatalf("got %v for %v, want that it waits", err, writes)
	}
	if _, err := client.Send(t.Context(), reading, writes[1], ""); err != nil {
		t.Fatal(err)
	}
	reading = readOfGKE(t, client)
	if _, err := client.Send(t.Context(), reading, mergeGKE(t, reading, spec).Writes[0], ""); err != nil {
		t.Fatal(err)
	}
	if writes := mergeGKE(t, readOfGKE(t, client), spec).Writes; len(writes) > 0 {
		t.Errorf("left is %v", writes)
	}
}

// TestHalfAKeyOfGKE: disks are not created without encryption because half of the key's name is missing.
func TestHalfAKeyOfGKE(t *testing.T) {
	_, client, _ := newGKE(t, clusterOfGKE)
	err := client.Create(t.Context(), parse(t, "{customerManagedEncryptionKey: {ringName: r}, nodePools: [{name: a, initialNodeCount: 1}]}"), "")
	if !errors.Is(err, cloud.ErrRefused) {
		t.Errorf("got %v, want that it is refused", err)
	}
}

// TestKeyOfNewPool: the disks of a new pool are encrypted with the key of the cluster, unless the pool has its own.
func TestKeyOfNewPool(t *testing.T) {
	const path = "projects/p/locations/europe-west3/keyRings/ring/cryptoKeys/"
	for more, want := range map[string]string{"": path + "key", ", config: {bootDiskKmsKey: " + path + "own}": path + "own"} {
		cluster, client, _ := newGKE(t, clusterOfGKE)
		reading := readOfGKE(t, client)
		writes := mergeGKE(t, reading, "nodePools: [{name: b, initialNodeCount: 1"+more+"}]").Writes
		if _, err := client.Send(t.Context(), reading, writes[0], ""); err != nil {
			t.Fatal(err)
		}
		if key := cloud.Text(cluster.pool("b"), "config.bootDiskKmsKey"); key != want {
			t.Errorf("%q: the key is %q, want %q", more, key, want)
		}
	}
}

// TestFailedInGKE: an operation that has failed says why.
func TestFailedInGKE(t *testing.T) {
	cluster, client, _ := newGKE(t, clusterOfGKE)
	reading := readOfGKE(t, client)
	id, err := client.Send(t.Context(), reading, mergeGKE(t, reading, "nodePools: [{name: a, initialNodeCount: 5}]").Writes[0], "")
	if err != nil {
		t.Fatal(err)
	}
	cluster.operations[0]["error"] = object{"code": 8, "message": "no quota"}
	if got, err := client.Operation(t.Context(), `nodePools["a"]`, id); err != nil || !got.Done || !got.Failed || got.Message != "no quota" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestAutopilot: Google's own pools are not part of the configuration.
func TestAutopilot(t *testing.T) {
	cluster, client, _ := newGKE(t, clusterOfGKE)
	cluster.Edit(func(c object) object { c["autopilot"] = object{"enabled": true}; return c })
	reading := readOfGKE(t, client)
	plan := merge.Merge(merge.Input{
		Table: gke.Table, Spec: parse(t, "nodePools: []"), Upstream: reading.Config, Published: reading.Config, Complete: true, Policies: merge.Policies{Exclusive: true},
	})
	if len(plan.Writes) > 0 {
		t.Errorf("it would send %v", plan.Writes)
	}
}

// TestAccessInEKS: the endpoint is opened together with its sources, so that it is never open to all.
func TestAccessInEKS(t *testing.T) {
	cluster, client := newEKS(t)
	vpc := cluster.cluster["resourcesVpcConfig"].(object)
	vpc["endpointPublicAccess"], vpc["publicAccessCidrs"] = false, []any{}
	if _, err := push(t, client, "{publicAccess: true, publicAccessSources: [192.0.2.0/24]}", "open"); err != nil {
		t.Fatal(err)
	}
	after := mustRead(t, client).Config
	if sources, _ := after["publicAccessSources"].([]any); after["publicAccess"] != true || len(sources) != 1 || len(cluster.Changes()) != 1 {
		t.Errorf("it is %v after %v", after, cluster.Changes())
	}
}

// TestCloseEKS: the endpoint is closed, also if the list of its sources is empty.
func TestCloseEKS(t *testing.T) {
	cluster, client := newEKS(t)
	if _, err := push(t, client, "{publicAccess: false, publicAccessSources: []}", "close"); err != nil {
		t.Fatal(err)
	}
	vpc := cluster.cluster["resourcesVpcConfig"].(object)
	if sources, _ := vpc["publicAccessCidrs"].([]any); vpc["endpointPublicAccess"] != false || len(sources) == 0 {
		t.Errorf("it is %v", vpc)
	}
}

// TestArmWithGPU: a group with both gets an image for both.
func TestArmWithGPU(t *testing.T) {
	cluster, client := newEKS(t)
	if _, err := push(t, client, `nodeGroups: [{nodegroupName: b, nodeRole: "arn:r", subnets: [s1], arm: true, gpu: true}]`, "make"); err != nil {
		t.Fatal(err)
	}
	if group := groupNamed(t, client, "b"); group["arm"] != true || group["gpu"] != true {
		t.Errorf("it is %v: %v", group, cluster.groups["b"])
	}
}

// TestSameInOtherWords: what cannot be changed does not differ because the cloud writes it in other words, or has
// chosen a value.
func TestSameInOtherWords(t *testing.T) {
	tests := map[string]struct {
		table          *merge.Table
		spec, upstream string
		want           merge.State
	}{
		"the size of a disk":        {aks.Table, "nodePools: [{name: a, osDiskSizeGB: 0}]", "nodePools: [{name: a, osDiskSizeGB: 128}]", merge.Agreed},
		"another size of a disk":    {aks.Table, "nodePools: [{name: a, osDiskSizeGB: 64}]", "nodePools: [{name: a, osDiskSizeGB: 128}]", merge.ImmutableDiffers},
		"the size of a range":       {gke.Table, "clusterIpv4Cidr: /14", "clusterIpv4Cidr: 10.4.0.0/14", merge.Agreed},
		"another size of a range":   {gke.Table, "clusterIpv4Cidr: /4", "clusterIpv4Cidr: 10.4.0.0/14", merge.ImmutableDiffers},
		"another range":             {gke.Table, "clusterIpv4Cidr: 10.8.0.0/14", "clusterIpv4Cidr: 10.4.0.0/14", merge.ImmutableDiffers},
		"the path of a network":     {gke.Table, "network: projects/p/global/networks/net", "network: net", merge.Agreed},
		"another network":           {gke.Table, "network: projects/p/global/networks/other", "network: net", merge.ImmutableDiffers},
		"subnets that EKS chooses":  {eks.Table, "subnets: []", "subnets: [s1, s2]", merge.Agreed},
		"other subnets":             {eks.Table, "subnets: [s1]", "subnets: [s1, s2]", merge.ImmutableDiffers},
		"scopes that GKE chooses":   {gke.Table, "nodePools: [{name: a, config: {oauthScopes: []}}]", "nodePools: [{name: a, config: {oauthScopes: [x]}}]", merge.Agreed},
		"a machine that GKE picks":  {gke.Table, `nodePools: [{name: a, config: {machineType: ""}}]`, "nodePools: [{name: a, config: {machineType: e2-medium}}]", merge.Agreed},
		"a private cluster is none": {aks.Table, "privateCluster: false", "privateCluster: true", merge.ImmutableDiffers},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := merge.Merge(merge.Input{Table: test.table, Spec: parse(t, test.spec), Upstream: parse(t, test.upstream), Complete: true})
			if leaf := plan.Leaves[len(plan.Leaves)-1]; leaf.State != test.want {
				t.Errorf("%s is %s, want %s", leaf.Path, leaf.State, test.want)
			}
		})
	}
}
