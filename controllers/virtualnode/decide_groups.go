package virtualnode

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// mostGroups is how many virtual nodes one provider may have. Each costs a Node, a Lease and a watch. Once there were too
// many, there are groups again when they are fewerGroups: otherwise each node more or less could replace all virtual nodes.
const (
	mostGroups  = 64
	fewerGroups = 56
)

// limitOf returns how many groups the provider of a binding may have now. existing are its virtual nodes.
func limitOf(binding *v1alpha1.ClusterBinding, existing []*corev1.Node) int {
	c := grouping(binding)
	whole := slices.ContainsFunc(existing, func(n *corev1.Node) bool {
		return n.Name == binding.VirtualNodeName() && n.Annotations[v1alpha1.AnnotationGroup] == "" && n.Annotations[v1alpha1.AnnotationCordoned] == ""
	})
	if whole && c != nil && c.Reason == v1alpha1.ReasonTooManyGroups && c.ObservedGeneration == binding.Generation {
		return fewerGroups
	}
	return mostGroups
}

// Group is a virtual node, and the provider's nodes behind it.
type Group struct {
	Name string
	// Labels are the labels that these nodes have in common; none: they are all nodes.
	Labels field.Group
	Nodes  []corev1.Node
	// Grows reports that there can be nodes of the group, also if there are none now.
	Grows bool
}

// Grouping is how a provider's nodes are shown.
type Grouping struct {
	// Groups are sorted by name. There is none if the provider has no nodes.
	Groups []Group
	// Missing are the keys that no node has, sorted.
	Missing []string
	// TooMany is how many groups there would be, if that is more than limitOf.
	TooMany int
	// Waiting is how many groups wait until former virtual nodes are gone.
	Waiting int
}

// groupsOf divides the nodes of a provider by the values that they have for some label keys. Without keys, or with too
// many groups, it is one group. Nodes that are not usable count: their pods run.
func groupsOf(binding *v1alpha1.ClusterBinding, keys []string, nodes []corev1.Node, most int) Grouping {
	whole := []Group{{Name: binding.VirtualNodeName(), Nodes: nodes}}
	if len(keys) == 0 {
		return Grouping{Groups: whole}
	}
	all, had := elasticGroups(binding)
	for i := range nodes {
		if nodes[i].Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
			continue
		}
		values := valuesOf(&nodes[i], keys)
		for key := range values {
			had[key] = true
		}
		name := groupName(binding, values)
		if all[name] == nil {
			all[name] = &Group{Name: name, Labels: field.Group{}}
			for key, value := range values {
				all[name].Labels[key] = &value
			}
		}
		all[name].Nodes = append(all[name].Nodes, nodes[i])
	}
	var g Grouping
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if len(all) > 0 && !had[key] {
			g.Missing = append(g.Missing, key)
		}
	}
	if len(all) > most {
		return Grouping{Groups: whole, Missing: g.Missing, TooMany: len(all)}
	}
	for _, group := range all {
		for key := range had {
			if _, has := group.Labels[key]; !has {
				group.Labels[key] = nil
			}
		}
		g.Groups = append(g.Groups, *group)
	}
	slices.SortFunc(g.Groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return g
}

// valuesOf returns the values that a node has for the keys. An invalid one counts as none, because the consumer would
// refuse the whole virtual node for it.
func valuesOf(node *corev1.Node, keys []string) map[string]string {
	values := map[string]string{}
	for _, key := range keys {
		if value, has := node.Labels[key]; has && len(validation.IsValidLabelValue(value)) == 0 {
			values[key] = value
		}
	}
	return values
}

// hashLength is the number of digits of the hash in the name of a group's node.
const hashLength = 8

// groupName returns the name of the virtual node of a group: readable as far as it fits into a label's value, then
// unique. Keys that the nodes lack do not count, so a key that appears on other nodes changes no name. Nodes without any
// of the keys are behind the node that has no group.
func groupName(binding *v1alpha1.ClusterBinding, values map[string]string) string {
	if len(values) == 0 {
		return binding.VirtualNodeName()
	}
	var readable, exact strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		readable.WriteString(values[key] + "-")
		exact.WriteString(key + "=" + values[key] + "\n")
	}
	sum := sha256.Sum256([]byte(exact.String()))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	room := validation.LabelValueMaxLength - len(binding.GroupNodeName("-"+hash))
	text := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(readable.String()))
	text = strings.Trim(text, "-")
	if text = strings.Trim(text[:min(len(text), room)], "-"); text == "" {
		return binding.GroupNodeName(hash)
	}
	return binding.GroupNodeName(text + "-" + hash)
}
