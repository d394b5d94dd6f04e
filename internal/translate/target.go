// Package translate defines what an object of the consumer looks like in a provider, and what the
// status of the remote object means for the local one.
//
// All its functions are pure: they have no client, no clock and no memory. Between two calls, the
// remote object remembers what is needed, such as which labels were copied and which image was sent
// last. So a restarted manager decides like its predecessor.
//
// Objects for the provider are built from an allow-list of fields. Every field of the types that matter
// has a decision in a table (fields_*.go), and the code that copies and refuses uses these tables. A
// field that Kubernetes adds is not sent until somebody decides about it, and a test fails until then.
//
// A status from the provider is untrusted input. It is copied, checked and bounded value by value
// (status*.go).
//
// The price is that a pod may ask for less than a provider would grant. The manager refuses what
// exceeds pod security baseline, unless the provider's limits grant privileged. One readable rule is
// better than a rule that depends on the provider.
package translate

import (
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
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
	return namespacemap.Hashed(namespace, name)
}

// ClusterScopedName returns the remote name of an object without a namespace. It is always hashed,
// together with the consumer and the binding, because all consumers of a provider share its
// cluster-scoped names.
func (t Target) ClusterScopedName(name string) string {
	return namespacemap.Hashed(t.Mark.Origin+"/"+t.Mark.ClusterID, name)
}
