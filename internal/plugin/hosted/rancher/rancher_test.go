package rancher

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

const ofRancher = "it is in a launch template of Rancher, which the operator does not change. It can be changed in a new group)"

// TestConvert converts an object of each kind, in the format of Rancher's documentation and of the examples of its
// operators (github.com/rancher/eks-operator, aks-operator and gke-operator, folder examples).
func TestConvert(t *testing.T) {
	for name, test := range map[string]struct {
		left []string
		note string
	}{
		"eks": {[]string{
			"kmsKey: it is empty, and so unset",
			`nodeGroups["workers"].diskSize: 20 (` + ofRancher,
			`nodeGroups["workers"].instanceType: m7g.large (` + ofRancher,
			`nodeGroups["workers"].resourceTags: map[cost:7] (` + ofRancher,
			`nodeGroups["workers"].userData: not shown (` + ofRancher,
			"securityGroups: it is empty, and so the default",
		}, "Rancher has created this cluster"},
		"aks": {[]string{
			"authBaseUrl: https://login.microsoftonline.com (" + endpoints + ")",
			"baseUrl: https://management.azure.com/ (" + endpoints + ")",
			"dockerBridgeCidr: 172.17.0.1/16 (Azure ignores it)",
			"subscriptionId: subscription (it is the key subscriptionID of the Secret)",
			"tenantId: tenant (it is the key tenantID of the Secret)",
		}, "with the keys tenantID, subscriptionID, clientID and clientSecret. Rancher has them in cattle-global-data:cc-8wkqs"},
		"gke": {[]string{
			"clusterIpv4Cidr: it is empty, and so unset",
			`nodePools["workers"].labels: [foo] (a HostedCluster has no such field)`,
			"privateClusterConfig.publicEndpoint: 192.0.2.1 (a HostedCluster has no such field)",
			"region: it is empty, and so unset",
			"subnetwork: it is empty, and so unset",
		}, "kubectl spillway hosted plan"},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			c, err := Convert(content, "shop", "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.left, c.Left); diff != "" {
				t.Errorf("left out: -want +got:\n%s", diff)
			}
			if !strings.Contains(strings.Join(c.Notes, "\n"), test.note) {
				t.Errorf("no note says %q: %q", test.note, c.Notes)
			}
			h := &v1alpha1.HostedCluster{}
			if err := yaml.UnmarshalStrict(c.YAML, h); err != nil || h.Name != "shop" || h.Spec.Credentials.SecretRef.Name != "shop" {
				t.Fatalf("%v: %s", err, c.YAML)
			}
			complete(t, content, h)
		})
	}
}

// complete checks that each value of Rancher's object that is not empty, and was not left out, is in the
// HostedCluster, under the same name.
func complete(t *testing.T, content []byte, h *v1alpha1.HostedCluster) {
	t.Helper()
	var from struct {
		Spec map[string]any `json:"spec"`
	}
	var to map[string]any
	text, err := yaml.Marshal(h.Spec.ClusterConfig)
	if err != nil || yaml.Unmarshal(content, &from) != nil || yaml.Unmarshal(text, &to) != nil {
		t.Fatal(err)
	}
	for _, config := range to {
		got, _ := config.(map[string]any)
		for _, gone := range []string{
			"amazonCredentialSecret", "azureCredentialSecret", "googleCredentialSecret", "imported", "tenantId", "subscriptionId", "baseUrl", "authBaseUrl", "dockerBridgeCidr",
		} {
			delete(from.Spec, gone)
		}
		if user, ok := from.Spec["adminUsername"]; ok {
			from.Spec["linuxAdminUsername"] = user
			delete(from.Spec, "adminUsername")
		}
		if private, ok := from.Spec["privateClusterConfig"].(map[string]any); ok {
			delete(private, "publicEndpoint")
			delete(from.Spec["nodePools"].([]any)[0].(map[string]any), "labels")
		}
		if groups, ok := from.Spec["nodeGroups"].([]any); ok {
			for _, name := range inTemplate {
				delete(groups[0].(map[string]any), name)
			}
			delete(from.Spec, "securityGroups")
		}
		if diff := cmp.Diff(without(from.Spec), got); diff != "" {
			t.Errorf("-Rancher +HostedCluster:\n%s", diff)
		}
	}
}

// without returns an object without what is unset.
func without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			if item != nil && item != "" {
				out[key] = without(item)
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return value
}

// TestImportedGroups: the template of a group of an imported cluster is not Rancher's, unless the status has one.
func TestImportedGroups(t *testing.T) {
	const text = "apiVersion: eks.cattle.io/v1\nkind: EKSClusterConfig\nspec: {imported: true, displayName: a, region: r, nodeGroups: [{nodegroupName: g, diskSize: 20}]}\n"
	for status, left := range map[string]int{"": 0, "status: {managedLaunchTemplateID: lt-1}": 1} {
		c, err := Convert([]byte(text+status), "a", "")
		if err != nil || len(c.Left) != left {
			t.Errorf("%q: %v, %v", status, c, err)
		}
	}
}

func TestOtherKinds(t *testing.T) {
	for _, text := range []string{"kind: Cluster", "apiVersion: v1\nkind: EKSClusterConfig", "a: b: c"} {
		if _, err := Convert([]byte(text), "", ""); err == nil {
			t.Errorf("%q is converted", text)
		}
	}
}
