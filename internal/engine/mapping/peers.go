package mapping

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// Peers returns the local namespaces that NetworkPolicies can name in the provider: those with an existing
// remote namespace, and those that both clusters have.
//
// If the NamespaceMap uses a name for a remote namespace, that name is not shared, even if the remote
// namespace does not exist yet or is being deleted. The namespace with that name may be the remote one.
func (m *Mapping) Peers() []decide.PeerNamespace {
	labels, mapped := map[string]map[string]string{}, map[string]string{}
	note := func(namespace string) {
		if of, exists := m.Labels(namespace); exists {
			labels[namespace] = of
		}
	}
	for namespace := range m.desired {
		if place := m.Destination(namespace); place.Open {
			mapped[namespace] = place.Namespace
			note(namespace)
		}
	}
	taken := remoteNames(m)
	both := slices.DeleteFunc(shared(m.binding), func(name string) bool { return taken[name] })
	for _, name := range both {
		note(name)
	}
	return decide.PeerNamespaces(labels, mapped, both, m.binding.Spec.MountNamespace)
}

// IsPeer reports whether the labels of a local namespace may matter to Peers.
func (m *Mapping) IsPeer(namespace string) bool {
	return m.Concerns(namespace) || slices.Contains(shared(m.binding), namespace)
}

// shared returns the names of namespaces that mean the same in both clusters. kube-system has the cluster
// DNS. Without it, hardly any policy about egress would be useful.
func shared(binding *v1alpha1.ClusterBinding) []string {
	all := []string{metav1.NamespaceSystem}
	for _, name := range binding.Spec.Network.SharedNamespaces {
		if !slices.Contains(all, string(name)) {
			all = append(all, string(name))
		}
	}
	return all
}

// remoteNames returns the names of all remote namespaces in the NamespaceMap.
func remoteNames(m *Mapping) map[string]bool {
	all := map[string]bool{}
	for _, desired := range m.desired {
		all[desired.RemoteNamespace] = true
	}
	for _, current := range m.current {
		all[current.RemoteNamespace] = true
	}
	return all
}
