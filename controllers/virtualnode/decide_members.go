package virtualnode

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// emptyGrace is how long a provider may have no node of a group before the pods on its virtual node are evicted. An
// autoscaler that removes the last node of a group, and adds one when a pod waits, takes a few minutes.
const emptyGrace = 10 * time.Minute

// Member is what one of the virtual nodes of a binding is to become.
type Member struct {
	Group
	// EmptySince is since when the provider has no node of the group; zero: it has some.
	EmptySince time.Time
	// Cordoned says why the manager cordons the node; empty: it does not.
	Cordoned string
}

// members is the input of decideMembers.
type members struct {
	Binding *v1alpha1.ClusterBinding
	// Grouping is how the provider's nodes are shown, and Offer what it offers.
	Grouping
	Offer Offer
	// Existing are the virtual nodes of the binding, by name.
	Existing map[string]*corev1.Node
	// Known are the virtual nodes that this process has kept before, or that the status of the binding has.
	Known map[string]Member
	// Busy reports whether pods are on a virtual node that keep it. Pods that have ended do not, nor do those of
	// DaemonSets.
	Busy func(node string) bool
	Now  time.Time
}

// plan is what is done with the virtual nodes of a binding.
type plan struct {
	// Keep are created or updated, in this order, and Delete is deleted then.
	Keep   []Member
	Delete []*corev1.Node
	// Waiting is how many groups have no virtual node because the binding has too many.
	Waiting int
	// RecheckAfter is how long until time alone changes the plan; 0: never.
	RecheckAfter time.Duration
}

// decideMembers decides which virtual nodes a binding has. Those of groups come first: a node that is to go is cordoned
// after there are others.
func decideMembers(s members) plan {
	var p plan
	kept := s.keep(&p)
	for _, name := range slices.Sorted(maps.Keys(s.Known)) {
		if !kept[name] && s.deleted(name) { // It is restored, and goes like any other.
			member, wait := s.leaving(s.Known[name].node())
			p.RecheckAfter = retry.Sooner(p.RecheckAfter, wait)
			p.Keep = append(p.Keep, member)
		}
	}
	for _, name := range sortedNames(s.Existing) {
		if kept[name] {
			continue
		}
		node := s.Existing[name]
		member, wait := s.leaving(node)
		p.RecheckAfter = retry.Sooner(p.RecheckAfter, wait)
		if member.deletable(node, drained(s.Binding)) && !frozen(s.Binding) && !s.Busy(name) {
			p.Delete = append(p.Delete, node)
			continue
		}
		p.Keep = append(p.Keep, member)
	}
	return p
}

// keep plans the virtual nodes of the groups that there are, and returns their names. A group begins with a node that
// takes pods, or because it can grow. While nothing is written, none begins.
func (s members) keep(p *plan) map[string]bool {
	kept, count := map[string]bool{}, len(s.Existing)
	for _, group := range s.shown() {
		exists := s.Existing[group.Name] != nil
		if begins := !exists && len(group.Labels) > 0 && !s.deleted(group.Name); begins {
			if !s.usable(group) || frozen(s.Binding) && !s.recorded(group.Name) {
				continue
			}
			if count >= mostNodes {
				p.Waiting++
				continue
			}
		}
		if !exists {
			count++
		}
		kept[group.Name] = true
		p.Keep = append(p.Keep, Member{Group: group})
	}
	return kept
}

func (s members) usable(group Group) bool {
	return group.Grows || slices.ContainsFunc(group.Nodes, func(n corev1.Node) bool { return s.Offer.TakesPods(&n) })
}

// deleted reports whether somebody has deleted a virtual node that has pods.
func (s members) deleted(name string) bool {
	_, known := s.Known[name]
	return known && s.Existing[name] == nil && s.Busy(name)
}

// recorded reports whether the virtual node existed, so pods may be on it.
func (s members) recorded(node string) bool {
	return slices.ContainsFunc(s.Binding.Status.VirtualNodes, func(n v1alpha1.VirtualNodeStatus) bool { return n.Name == node })
}

// shown returns the groups that have a virtual node. A provider without any node says nothing about its groups. Then
// the existing ones stay, and with none there is the node without a group, as for any provider.
func (s members) shown() []Group {
	whole := Group{Name: s.Binding.VirtualNodeName(), Nodes: s.Offer.Nodes}
	if node := s.Existing[whole.Name]; len(s.Groups) == 0 && (len(s.Existing) == 0 || node != nil && node.Annotations[v1alpha1.AnnotationGroup] == "") {
		return []Group{whole}
	}
	return s.Groups
}

// leaving decides about a virtual node that no group has. If the provider has nodes of its group, groupBy asks for
// other groups, and the pods stay until they end. Otherwise they are evicted after a while. wait is how long until then.
func (s members) leaving(node *corev1.Node) (m Member, wait time.Duration) {
	labels, _ := field.ParseGroup(node.Annotations[v1alpha1.AnnotationGroup])
	m = Member{Group: Group{Name: node.Name, Labels: labels}}
	if slices.ContainsFunc(s.Offer.Nodes, func(n corev1.Node) bool {
		return n.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual && labels.Holds(n.Labels)
	}) {
		m.Cordoned = v1alpha1.CordonedReplaced
		return m, 0
	}
	m.EmptySince = s.Now
	// A time in the future is from another clock, or from before this clock was set back.
	if since, err := time.Parse(time.RFC3339, node.Annotations[v1alpha1.AnnotationGroupEmptySince]); err == nil && since.Before(s.Now) {
		m.EmptySince = since
	}
	if wait = m.EmptySince.Add(emptyGrace).Sub(s.Now); wait > 0 && s.Busy(node.Name) {
		return m, wait
	}
	m.Cordoned = v1alpha1.CordonedEmpty
	return m, 0
}

// deletable reports whether the node may be deleted once it has no pods: no new ones come, because it is cordoned. A group that
// somebody else has cordoned may come back, and then with a node that is not: until that is ended, the node stays. In a drained
// provider, a new node is cordoned, too.
func (m Member) deletable(node *corev1.Node, drained bool) bool {
	ours := node.Annotations[v1alpha1.AnnotationCordoned] != ""
	return m.Cordoned != "" && node.Spec.Unschedulable && (ours || drained || m.Cordoned == v1alpha1.CordonedReplaced)
}

// mostNodes is how many virtual nodes a binding may have together with those that are to go. A provider whose labels
// change all the time would cause any number.
const mostNodes = 2 * mostGroups

// present returns what a virtual node shows now.
func present(node *corev1.Node) Member {
	labels, _ := field.ParseGroup(node.Annotations[v1alpha1.AnnotationGroup])
	m := Member{Group: Group{Name: node.Name, Labels: labels}, Cordoned: node.Annotations[v1alpha1.AnnotationCordoned]}
	m.EmptySince, _ = time.Parse(time.RFC3339, node.Annotations[v1alpha1.AnnotationGroupEmptySince])
	return m
}

// withRecorded adds to the known virtual nodes those that the status of the binding has: a manager that has just started
// knows no others that somebody has deleted.
func withRecorded(binding *v1alpha1.ClusterBinding, known map[string]Member) map[string]Member {
	all := map[string]Member{}
	for _, recorded := range binding.Status.VirtualNodes {
		group, ok := field.ParseGroup(recorded.Group)
		if ok && (len(group) > 0 || recorded.Name == binding.VirtualNodeName()) {
			all[recorded.Name] = Member{Group: Group{Name: recorded.Name, Labels: group}}
		}
	}
	maps.Copy(all, known)
	return all
}

// node returns what is known of the virtual node of the member, as present reads it.
func (m Member) node() *corev1.Node {
	node := &corev1.Node{}
	node.Name, node.Annotations = m.Name, map[string]string{}
	m.set(map[string]string{}, node.Annotations)
	return node
}

func sortedNames(nodes map[string]*corev1.Node) []string {
	names := make([]string, 0, len(nodes))
	for name := range nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// of returns the offer for one of the virtual nodes: what the nodes behind it offer. divide has set the rooms.
func (o Offer) of(m Member) Offer {
	if len(m.Labels) == 0 && m.Cordoned == "" {
		return o
	}
	o.Nodes, o.Member, o.Growth = m.Nodes, m, o.Growths[m.Labels.String()]
	if o.Rooms == nil {
		o.Rooms = map[string]Room{}
	}
	return o
}

// set adds to the wanted labels and annotations those of the member. The node's hostname stays its own name. If it stands
// for one host of the provider, replicas that must be on different hosts must not share it.
func (m Member) set(labels, annotations map[string]string) {
	for key, value := range m.Labels {
		switch {
		case value == nil:
		case key == corev1.LabelHostname:
			labels[v1alpha1.TopologyHost] = m.Name
		default:
			labels[key] = *value
		}
	}
	if text := m.Labels.String(); text != "" {
		annotations[v1alpha1.AnnotationGroup] = text
	}
	if !m.EmptySince.IsZero() {
		annotations[v1alpha1.AnnotationGroupEmptySince] = m.EmptySince.UTC().Format(time.RFC3339)
	}
}

// cordon cordons the node, or ends that. It leaves a node alone that somebody else has cordoned, but says of it that the group
// has gone. In a drained provider a group that comes back stays cordoned, until kubectl spillway uncordon.
func (m Member) cordon(node *corev1.Node, annotations map[string]string, drained bool) {
	ours := node.Annotations[v1alpha1.AnnotationCordoned] != ""
	switch {
	case m.Cordoned != "" && (ours || !node.Spec.Unschedulable):
		node.Spec.Unschedulable = true
		annotations[v1alpha1.AnnotationCordoned] = m.Cordoned
	case m.Cordoned == v1alpha1.CordonedEmpty:
		annotations[v1alpha1.AnnotationGroupGone] = "true"
	case m.Cordoned == "" && ours:
		node.Spec.Unschedulable = drained
	}
}

// drained reports whether kubectl spillway drain has emptied the provider.
func drained(binding *v1alpha1.ClusterBinding) bool {
	return binding.Annotations[v1alpha1.AnnotationDrained] == v1alpha1.DrainedTrue
}
