package field

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Target says where the objects of one local namespace are in one provider.
type Target struct {
	// Mark is the mark of every remote object there.
	Mark provenance.Mark
	// Namespace is the remote namespace.
	Namespace string
	// Hashed reports that several local namespaces share the remote namespace, so names must be hashed.
	Hashed bool
	// Named are the NodeKeys, separated by commas, that the ClusterBinding sets on the virtual node
	// itself. The provider's nodes may lack these values.
	Named string
}

// Name returns the remote name of a namespaced object: its own name, or a unique hashed name of at most
// 63 characters.
func (t Target) Name(namespace, name string) string {
	if !t.Hashed {
		return name
	}
	return Hashed(namespace, name)
}

// ClusterScopedName returns the remote name of an object without a namespace. It is always hashed,
// together with the consumer and the binding, because all consumers of a provider share its
// cluster-scoped names.
func (t Target) ClusterScopedName(name string) string {
	return Hashed(t.Mark.Origin+"/"+t.Mark.ClusterID, name)
}

// NodeKeys are labels that kubelets and clouds set on all nodes, including the provider's. A virtual
// node has those whose value all nodes of the provider share. Zone and region are not included. A
// virtual node with a zone of its own would count for spread constraints, and pods that are never
// offloaded would wait for a node there.
var NodeKeys = []string{corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable}
