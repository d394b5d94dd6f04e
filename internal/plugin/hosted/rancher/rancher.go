// Package rancher converts the objects with which Rancher describes clusters in EKS, AKS and GKE into
// HostedClusters. It names every field that has no counterpart.
package rancher

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Converted is a HostedCluster, and what is to say about it.
type Converted struct {
	YAML []byte
	// Left are the fields that were left out, each with its value and the reason.
	Left []string
	// Notes say what to do before the HostedCluster is applied.
	Notes []string
}

// kind is a kind of Rancher.
type kind struct {
	version string
	like    v1alpha1.ClusterConfig
	// credential is the field with the name of the credentials, and keys are the keys of our Secret.
	credential, keys string
	// renamed has fields that have another name here.
	renamed map[string]string
	// reasons say why a field has no counterpart.
	reasons map[string]string
}

const endpoints = "the operator's flag --endpoints is for other endpoints"

var kinds = map[string]kind{
	"EKSClusterConfig": {
		version: "eks.cattle.io/", like: v1alpha1.ClusterConfig{EKSConfig: &v1alpha1.EKSConfig{}},
		credential: "amazonCredentialSecret", keys: "accessKeyID and secretAccessKey",
	},
	"AKSClusterConfig": {
		version: "aks.cattle.io/", like: v1alpha1.ClusterConfig{AKSConfig: &v1alpha1.AKSConfig{}},
		credential: "azureCredentialSecret", keys: "tenantID, subscriptionID, clientID and clientSecret",
		renamed: map[string]string{"adminUsername": "linuxAdminUsername"},
		reasons: map[string]string{
			"tenantId": "it is the key tenantID of the Secret", "subscriptionId": "it is the key subscriptionID of the Secret",
			"baseUrl": endpoints, "authBaseUrl": endpoints, "dockerBridgeCidr": "Azure ignores it",
		},
	},
	"GKEClusterConfig": {
		version: "gke.cattle.io/", like: v1alpha1.ClusterConfig{GKEConfig: &v1alpha1.GKEConfig{}},
		credential: "googleCredentialSecret", keys: "credentials.json",
	},
}

// Convert converts an object of Rancher. The name of the HostedCluster and of its Secret default to the name of
// the object.
func Convert(content []byte, name, secret string) (*Converted, error) {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec   map[string]any `json:"spec"`
		Status struct {
			ManagedLaunchTemplateID string `json:"managedLaunchTemplateID"`
		} `json:"status"`
	}
	if err := yaml.Unmarshal(content, &object); err != nil {
		return nil, err
	}
	k, ok := kinds[object.Kind]
	if !ok || !strings.HasPrefix(object.APIVersion, k.version) {
		return nil, fmt.Errorf("it has a %s %s; known are EKSClusterConfig, AKSClusterConfig and GKEClusterConfig of Rancher", object.APIVersion, object.Kind)
	}
	name = cmp.Or(name, object.Metadata.Name)
	secret = cmp.Or(secret, name)
	c := &Converted{}
	spec := maps.Clone(object.Spec)
	if imported, _ := spec["imported"].(bool); !imported || object.Status.ManagedLaunchTemplateID != "" {
		c.templates(spec)
	}
	c.note(k, spec, secret)
	for from, to := range k.renamed {
		if value, has := spec[from]; has {
			spec[to] = value
			delete(spec, from)
		}
	}
	config := c.kept(tables.Of(k.like), k, "", spec)
	typed, err := ledger.Typed(k.like, config)
	if err != nil {
		return nil, err
	}
	c.YAML, err = yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "HostedCluster", "metadata": map[string]any{"name": name},
		"spec": v1alpha1.HostedClusterSpec{ClusterConfig: typed, Credentials: v1alpha1.Credentials{SecretRef: &v1alpha1.SecretReference{Name: secret}}},
	})
	slices.Sort(c.Left)
	return c, err
}

// note says what is to do, and removes the fields that it is about.
func (c *Converted) note(k kind, spec map[string]any, secret string) {
	from, _ := spec[k.credential].(string)
	c.Notes = append(c.Notes, fmt.Sprintf("create the Secret %s in the operator's namespace, with the keys %s. Rancher has them in %s", secret, k.keys, cmp.Or(from, "its credentials")))
	if imported, _ := spec["imported"].(bool); !imported {
		c.Notes = append(c.Notes, "Rancher has created this cluster. The HostedCluster adopts it, and leaves it in the cloud if it is deleted: lifecycle.mode and deletionPolicy are unset")
	}
	c.Notes = append(c.Notes, "remove the cluster from Rancher, without deleting it in the cloud, before you apply the HostedCluster: otherwise both send requests. Then see what would change: kubectl spillway hosted plan")
	delete(spec, k.credential)
	delete(spec, "imported")
}

// inTemplate are the fields of a group that are in its launch template.
var inTemplate = []string{"diskSize", "ec2SshKey", "imageId", "instanceType", "resourceTags", "userData"}

// templates leaves out what is in the launch templates that Rancher has created for groups: the operator changes only
// its own templates.
func (c *Converted) templates(spec map[string]any) {
	groups, _ := spec["nodeGroups"].([]any)
	for _, one := range groups {
		group, _ := one.(map[string]any)
		if group["launchTemplate"] != nil {
			continue
		}
		for _, name := range inTemplate {
			value := group[name]
			if value != nil && value != "" {
				if name == "userData" {
					value = "not shown"
				}
				c.Left = append(c.Left, fmt.Sprintf("nodeGroups[%q].%s: %s (it is in a launch template of Rancher, which the operator does not change. It can be changed in a new group)",
					group["nodegroupName"], name, short(value)))
			}
			delete(group, name)
		}
	}
}

// defaults are lists of which Rancher takes an empty one for the cloud's default, besides those that cannot be changed.
var defaults = []string{"publicAccessSources", "locations", "nodeGroups", "nodePools"}

// kept returns the fields that a HostedCluster has, too. Null means unset for Rancher, and so does an empty text, and an
// empty list of some fields.
func (c *Converted) kept(table *merge.Table, k kind, at string, object map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range object {
		path := at + name
		row := merge.RowOf(table, path)
		below, isObject := value.(map[string]any)
		items, isList := value.([]any)
		switch why := empty(row, path, value); {
		case value == nil:
		case why != "":
			c.Left = append(c.Left, path+": "+why)
		case row == nil && isObject && isPrefix(table, path):
			out[name] = c.kept(table, k, path+".", below)
		case isKey(table, path):
			out[name] = value
		case row == nil:
			c.Left = append(c.Left, fmt.Sprintf("%s: %s (%s)", path, short(value), cmp.Or(k.reasons[path], "a HostedCluster has no such field")))
		case row.Shape == merge.Keyed && row.Key != "" && isList:
			out[name] = c.items(table, k, path, row.Key, items)
		default:
			out[name] = value
		}
	}
	return out
}

// empty says why an empty value is left out; "" if it is not empty, or means something.
func empty(row *merge.Field, path string, value any) string {
	items, isList := value.([]any)
	switch {
	case row == nil:
		return ""
	case value == "":
		return "it is empty, and so unset"
	case isList && len(items) == 0 && (row.Immutable || slices.Contains(defaults, path)):
		return "it is empty, and so the default"
	default:
		return ""
	}
}

func (c *Converted) items(table *merge.Table, k kind, path, key string, items []any) []any {
	out := []any{}
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			continue
		}
		out = append(out, c.kept(table, k, fmt.Sprintf("%s[%q].", path, fmt.Sprint(object[key])), object))
	}
	return out
}

// isPrefix reports whether fields are below a path.
func isPrefix(table *merge.Table, path string) bool {
	return slices.ContainsFunc(table.Fields, func(f merge.Field) bool { return strings.HasPrefix(f.Path, unkeyed(path)+".") })
}

// isKey reports whether a path is the key of an item.
func isKey(table *merge.Table, path string) bool {
	list, name, ok := cutLast(unkeyed(path))
	return ok && slices.ContainsFunc(table.Fields, func(f merge.Field) bool { return f.Path+"[]" == list && f.Key == name })
}

// unkeyed returns the path as the table writes it: with [] for the key of an item.
func unkeyed(path string) string {
	var out strings.Builder
	quoted := false
	for i := range len(path) {
		switch b := path[i]; {
		case b == '"' && (i == 0 || path[i-1] != '\\'):
			quoted = !quoted
		case !quoted:
			out.WriteByte(b)
		}
	}
	return out.String()
}

func cutLast(path string) (before, after string, ok bool) {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

func short(value any) string {
	const most = 60
	text := fmt.Sprint(value)
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}
