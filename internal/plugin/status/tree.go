package status

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// Status is what -o json prints.
type Status struct {
	// Manager is nil if the user may not read it.
	Manager *Manager `json:"manager,omitempty"`
	// Namespace is the only namespace that was read.
	Namespace string    `json:"namespace,omitempty"`
	Bindings  []Binding `json:"bindings"`
	// Local are the offloaded namespaces with pods on this cluster's own nodes.
	Local []Local `json:"local,omitempty"`
	// Unplaced are namespaces with the pods that wait for a node.
	Unplaced []Namespace `json:"unplaced,omitempty"`
	// Objects are warnings about objects of offloaded namespaces other than pods.
	Objects []Object `json:"objects,omitempty"`
	// Hidden are kinds that the user may not read.
	Hidden []string `json:"hidden,omitempty"`
}

// Manager is Spillway's manager.
type Manager struct {
	Available bool   `json:"available"`
	Message   string `json:"message,omitempty"`
	// Outside is its identity if it runs outside of this cluster.
	Outside string `json:"outside,omitempty"`
}

// Binding is a provider.
type Binding struct {
	// Name is the name of the ClusterBinding. If the user may not read that, Name is empty, and the
	// conditions are not known.
	Name      string `json:"name,omitempty"`
	ClusterID string `json:"clusterID"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason,omitempty"`
	Version   string `json:"version,omitempty"`
	// LastKnown is when a provider that cannot be reached last answered. Nothing newer is known of its nodes and pods.
	LastKnown string `json:"lastKnown,omitempty"`
	// Waits are all conditions that show a problem.
	Waits []Wait `json:"waits,omitempty"`
	Node  *Node  `json:"node,omitempty"`
	// Quota says how much of each item of spec.quota is used.
	Quota []string `json:"quota,omitempty"`
	// Groups are the virtual nodes of groups of the provider's nodes.
	Groups     []Node      `json:"groups,omitempty"`
	Namespaces []Namespace `json:"namespaces,omitempty"`
}

// Node is a virtual node.
type Node struct {
	Name          string            `json:"name"`
	Ready         bool              `json:"ready"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Offers        map[string]string `json:"offers,omitempty"`
}

// Namespace is a namespace with pods in a provider, or with pods that wait.
type Namespace struct {
	Name   string `json:"name"`
	Remote string `json:"remote,omitempty"`
	Ready  bool   `json:"ready"`
	// NotOffloaded says that the namespace is not offloaded to this provider, or not any more. Its pods there
	// have ended, or never started.
	NotOffloaded bool `json:"notOffloaded,omitempty"`
	// Tier is the number of the provider's tier, if the namespace has spec.overflow.
	Tier  *int   `json:"tier,omitempty"`
	Waits []Wait `json:"waits,omitempty"`
	Pods  []Pod  `json:"pods,omitempty"`
}

// Tree sorts what was seen into bindings, their nodes and namespaces, and pods.
func Tree(seen Seen) Status {
	all := Status{Namespace: seen.Namespace, Bindings: []Binding{}, Objects: seen.Objects, Hidden: seen.Hidden}
	if !seen.Hides(ManagerParts) {
		all.Manager = &Manager{Available: seen.Available, Message: seen.Waits, Outside: seen.Outside}
	}
	for i := range seen.Bindings {
		all.Bindings = append(all.Bindings, bindingOf(&seen.Bindings[i], seen))
	}
	if seen.Hides(Bindings) {
		for _, id := range clusterIDs(seen) {
			all.Bindings = append(all.Bindings, hiddenBinding(id, seen))
		}
	}
	for i := range seen.Offloadings {
		namespace := Namespace{Name: seen.Offloadings[i].Namespace}
		state := StateOf(&seen.Offloadings[i])
		namespace.Ready, namespace.Waits = state.Ready, state.Waits
		all.Unplaced = append(all.Unplaced, namespace)
	}
	all.Local = localOf(seen)
	all.wait(seen)
	all.Unplaced = slices.DeleteFunc(all.Unplaced, func(n Namespace) bool { return len(n.Pods) == 0 && n.Ready && len(n.Waits) == 0 })
	return all
}

// wait adds the pods without a node to their namespaces.
func (s *Status) wait(seen Seen) {
	for i := range seen.Pods {
		pod := &seen.Pods[i]
		if pod.Spec.NodeName != "" || ended(pod) {
			continue
		}
		at := slices.IndexFunc(s.Unplaced, func(n Namespace) bool { return n.Name == pod.Namespace })
		if at < 0 {
			at = len(s.Unplaced)
			s.Unplaced = append(s.Unplaced, Namespace{Name: pod.Namespace, NotOffloaded: !seen.Hides(Offloadings)})
		}
		p := seen.podOf(pod, seen.eventsOf(pod)...)
		if seen.Strands(pod) {
			why := Wait{Reason: v1alpha1.ReasonPodStranded, Message: "it can run only on virtual nodes: delete and recreate it" + UnlessMounted(seen.Hides(Bindings))}
			p.Waits = slices.Insert(p.Waits, 0, why)
		}
		s.Unplaced[at].Pods = append(s.Unplaced[at].Pods, p)
	}
}

func bindingOf(binding *v1alpha1.ClusterBinding, seen Seen) Binding {
	b := Binding{Name: binding.Name, ClusterID: binding.Spec.ClusterID, Version: binding.Status.KubernetesVersion}
	b.Ready, b.Waits = conditionsOf(binding.Status.Conditions, binding.Generation)
	if c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingReady); c != nil {
		b.Reason = c.Reason
	}
	if at := LastKnown(binding); !at.IsZero() {
		b.LastKnown = at.UTC().Format(time.RFC3339)
	}
	for i := range binding.Status.Quota {
		b.Quota = append(b.Quota, quota.Describe(&binding.Status.Quota[i]))
	}
	b.fill(seen, binding.Spec.MountNamespace)
	return b
}

// LastKnown returns when a provider last answered to which the manager is not connected; zero if it is connected, or if the
// provider has never answered.
func LastKnown(binding *v1alpha1.ClusterBinding) time.Time {
	reason, _ := namespaceoffloading.Away(binding)
	if reason == "" || reason == v1alpha1.ReasonPaused {
		return time.Time{}
	}
	if answered := binding.Status.LastHeartbeatTime; answered != nil {
		return answered.Time
	}
	return time.Time{}
}

// hiddenBinding returns what is known about a provider if the user may not read ClusterBindings.
func hiddenBinding(clusterID string, seen Seen) Binding {
	b := Binding{ClusterID: clusterID}
	b.fill(seen, "")
	return b
}

// clusterIDs returns the clusterIDs of the providers that offloadings and pods name.
func clusterIDs(seen Seen) []string {
	var ids []string
	for i := range seen.Offloadings {
		for _, remote := range StateOf(&seen.Offloadings[i]).Remotes {
			ids = append(ids, remote.Cluster)
		}
	}
	for i := range seen.Pods {
		if id := v1alpha1.ClusterIDOf(seen.Pods[i].Spec.NodeName); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// fill adds the node, the namespaces and the pods of a provider.
func (b *Binding) fill(seen Seen, mount string) {
	for i := range seen.Nodes {
		switch node := &seen.Nodes[i]; {
		case node.Name == v1alpha1.VirtualNodePrefix+b.ClusterID:
			b.Node = nodeOf(node)
		case node.Labels[v1alpha1.LabelCluster] == b.ClusterID && node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual:
			b.Groups = append(b.Groups, *nodeOf(node))
		}
	}
	for i := range seen.Offloadings {
		remote := StateOf(&seen.Offloadings[i]).In(b.ClusterID)
		if remote == nil {
			continue
		}
		namespace := Namespace{Name: seen.Offloadings[i].Namespace, Remote: remote.Namespace, Ready: remote.Ready, Tier: tiers.With(&seen.Offloadings[i], b.ClusterID)}
		if remote.Wait != nil {
			namespace.Waits = []Wait{*remote.Wait}
		}
		b.Namespaces = append(b.Namespaces, namespace)
	}
	b.place(seen, mount)
}

// place adds the pods on the binding's node to their namespaces.
func (b *Binding) place(seen Seen, mount string) {
	for i := range seen.Pods {
		pod := &seen.Pods[i]
		if v1alpha1.ClusterIDOf(pod.Spec.NodeName) != b.ClusterID {
			continue
		}
		at := slices.IndexFunc(b.Namespaces, func(n Namespace) bool { return n.Name == pod.Namespace })
		if at < 0 {
			at = len(b.Namespaces)
			b.Namespaces = append(b.Namespaces, Namespace{Name: pod.Namespace, Ready: true, Remote: mount})
			if mount == "" {
				// The remote namespace in the pods' annotations is out of date if nobody wants it.
				b.Namespaces[at].NotOffloaded = !seen.Hides(Offloadings) && !seen.Hides(Bindings)
			}
		}
		b.Namespaces[at].Pods = append(b.Namespaces[at].Pods, seen.podOf(pod))
	}
	slices.SortFunc(b.Namespaces, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
}

func nodeOf(node *corev1.Node) *Node {
	n := &Node{Name: node.Name, Unschedulable: node.Spec.Unschedulable, Offers: map[string]string{}}
	for _, c := range node.Status.Conditions {
		n.Ready = n.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if quantity, ok := node.Status.Allocatable[name]; ok {
			n.Offers[string(name)] = quantity.String()
		}
	}
	return n
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
