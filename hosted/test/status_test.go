package hosted

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// TestStatuses has each status that a cloud documents for a cluster or a pool: EKS in the enums of its library,
// AKS in ManagedClusterStatus and AgentPoolStatus of its API, and GKE in its description of the API. Only while
// a cloud works on something does anybody have to wait.
func TestStatuses(t *testing.T) {
	issues := object{"issues": []any{object{"code": "AccessDenied", "message": "no role"}}}
	eksCluster := func(status string) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client := newEKS(t)
			cluster.Edit(func(c object) object { c["status"], c["health"] = status, issues; return c })
			return mustRead(t, client)
		}
	}
	eksGroup := func(status string) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client := newEKS(t)
			cluster.groups["a"]["status"], cluster.groups["a"]["health"] = status, issues
			return mustRead(t, client)
		}
	}
	eksAddon := func(status string) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client := newEKS(t)
			cluster.addons["aws-ebs-csi-driver"], cluster.addonHas = true, object{"status": status, "health": issues}
			return mustRead(t, client)
		}
	}
	aks := func(state string) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client := newAKS(t)
			cluster.Edit(func(c object) object {
				properties := c["properties"].(object)
				properties["provisioningState"] = state
				properties["status"] = object{"provisioningError": object{"code": "x", "message": "no quota"}}
				return c
			})
			reading, err := client.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return reading
		}
	}
	aksStopped := func(t *testing.T) cloud.Reading {
		t.Helper()
		cluster, client := newAKS(t)
		cluster.Edit(func(c object) object { set(c, "properties", "powerState", object{"code": "Stopped"}); return c })
		reading, err := client.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return reading
	}
	aksPool := func(state string) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client := newAKS(t)
			properties := cluster.pools["a"]["properties"].(object)
			properties["provisioningState"], properties["status"] = state, object{"provisioningError": object{"message": "no quota"}}
			reading, err := client.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return reading
		}
	}
	gkePool := func(status string) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client, _ := newGKE(t, clusterOfGKE)
			cluster.pool("a")["status"], cluster.pool("a")["statusMessage"] = status, "no addresses"
			return readOfGKE(t, client)
		}
	}
	gke := func(status string, conditions ...any) func(*testing.T) cloud.Reading {
		return func(t *testing.T) cloud.Reading {
			t.Helper()
			cluster, client, _ := newGKE(t, clusterOfGKE)
			cluster.Edit(func(c object) object {
				c["status"], c["statusMessage"] = status, "no addresses"
				if len(conditions) > 0 {
					c["conditions"] = conditions
				}
				return c
			})
			reading, err := client.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return reading
		}
	}
	tests := map[string]struct {
		read     func(*testing.T) cloud.Reading
		busy     string
		troubles string
	}{
		"EKS, ACTIVE":              {read: eksCluster("ACTIVE")},
		"EKS, CREATING":            {read: eksCluster("CREATING"), busy: "the cluster is CREATING"},
		"EKS, UPDATING":            {read: eksCluster("UPDATING"), busy: "the cluster is UPDATING"},
		"EKS, DELETING":            {read: eksCluster("DELETING"), busy: "the cluster is DELETING"},
		"EKS, PENDING":             {read: eksCluster("PENDING"), busy: "the cluster is PENDING"},
		"EKS, FAILED":              {read: eksCluster("FAILED"), troubles: "the cluster is FAILED: AccessDenied: no role"},
		"EKS, group ACTIVE":        {read: eksGroup("ACTIVE")},
		"EKS, group CREATING":      {read: eksGroup("CREATING"), busy: "the node group a is CREATING"},
		"EKS, group UPDATING":      {read: eksGroup("UPDATING"), busy: "the node group a is UPDATING"},
		"EKS, group DELETING":      {read: eksGroup("DELETING"), busy: "the node group a is DELETING"},
		"EKS, group DEGRADED":      {read: eksGroup("DEGRADED"), troubles: "the node group a is DEGRADED: AccessDenied: no role"},
		"EKS, group CREATE_FAILED": {read: eksGroup("CREATE_FAILED"), troubles: "the node group a is CREATE_FAILED: AccessDenied: no role"},
		"EKS, group DELETE_FAILED": {read: eksGroup("DELETE_FAILED"), troubles: "the node group a is DELETE_FAILED: AccessDenied: no role"},
		"EKS, add-on DEGRADED":     {read: eksAddon("DEGRADED"), troubles: "the add-on aws-ebs-csi-driver is DEGRADED: AccessDenied: no role"},
		"EKS, add-on CREATING":     {read: eksAddon("CREATING")},
		"AKS, Creating":            {read: aks("Creating"), busy: "the cluster is Creating"},
		"AKS, Upgrading":           {read: aks("Upgrading"), busy: "the cluster is Upgrading"},
		"AKS, Deleting":            {read: aks("Deleting"), busy: "the cluster is Deleting"},
		"AKS, Starting":            {read: aks("Starting"), busy: "the cluster is Starting"},
		"AKS, Stopping":            {read: aks("Stopping"), busy: "the cluster is Stopping"},
		"AKS, pool Scaling":        {read: aksPool("Scaling"), busy: "the node pool a is Scaling"},
		"AKS, pool Upgrading":      {read: aksPool("UpgradingNodeImageVersion"), busy: "the node pool a is UpgradingNodeImageVersion"},
		"AKS, pool Canceled":       {read: aksPool("Canceled"), troubles: "the node pool a is Canceled: no quota"},
		"GKE, PROVISIONING":        {read: gke("PROVISIONING"), busy: "the cluster is PROVISIONING"},
		"GKE, STOPPING":            {read: gke("STOPPING"), busy: "the cluster is STOPPING"},
		"GKE, pool PROVISIONING":   {read: gkePool("PROVISIONING"), busy: "the node pool a is PROVISIONING"},
		"GKE, pool RECONCILING":    {read: gkePool("RECONCILING"), busy: "the node pool a is RECONCILING"},
		"GKE, pool STOPPING":       {read: gkePool("STOPPING"), busy: "the node pool a is STOPPING"},
		"GKE, pool in part":        {read: gkePool("RUNNING_WITH_ERROR"), troubles: "the node pool a is RUNNING_WITH_ERROR: no addresses"},
		"AKS, Succeeded":           {read: aks("Succeeded")},
		"AKS, Updating":            {read: aks("Updating"), busy: "the cluster is Updating"},
		"AKS, Failed":              {read: aks("Failed"), troubles: "the cluster is Failed: no quota"},
		"AKS, Canceled":            {read: aks("Canceled"), troubles: "the cluster is Canceled: no quota"},
		"AKS, stopped":             {read: aksStopped, troubles: "the cluster is Stopped: AKS changes nothing until it is started"},
		"AKS, pool Creating":       {read: aksPool("Creating"), busy: "the node pool a is Creating"},
		"AKS, pool Failed":         {read: aksPool("Failed"), troubles: "the node pool a is Failed: no quota"},
		"GKE, pool ERROR":          {read: gkePool("ERROR"), troubles: "the node pool a is ERROR: no addresses"},
		"GKE, RUNNING":             {read: gke("RUNNING")},
		"GKE, RECONCILING":         {read: gke("RECONCILING"), busy: "the cluster is RECONCILING"},
		"GKE, ERROR":               {read: gke("ERROR"), troubles: "the cluster is ERROR: no addresses"},
		"GKE, DEGRADED": {
			read: gke("DEGRADED", object{"message": "no key"}, object{"message": "no network"}), troubles: "the cluster is DEGRADED: no key, no network",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reading := test.read(t)
			if got := reading.Unhealthy(); reading.Doing() != test.busy || got != test.troubles {
				t.Errorf("busy %q, troubles %q; want %q, %q", reading.Doing(), got, test.busy, test.troubles)
			}
			if items := reading.Troubled(); (len(items) > 0) != strings.Contains(test.troubles, "node") {
				t.Errorf("the pools in trouble are %v", items)
			}
		})
	}
}
