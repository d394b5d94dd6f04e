// Package translate defines what an object of the consumer looks like in a provider,
// and what the status of the remote object means for the local one.
//
// Everything here is a pure function of its arguments: no client, no clock, no memory.
// What must be remembered between two calls, such as which labels were copied and which
// image was sent last, is on the remote object, so a restarted manager decides like its
// predecessor.
//
// Down, an object is built from an allow-list of fields: every field of the types that
// matter has a decision in a table (fields_*.go), and the tables are the code that
// copies and refuses. A field that Kubernetes adds is not sent until somebody decides
// about it, and a test fails until then. Up, a status is untrusted input that is
// copied, checked and bounded value by value (status*.go).
//
// The price: a pod may ask for less than a provider would grant. What goes beyond pod
// security baseline is refused here already, unless the provider's limits grant all of it:
// one readable rule beats one that depends on the provider.
package translate

import (
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/provenance"
)

// Target is where the objects of one local namespace go in one provider.
type Target struct {
	// Mark is put on everything that goes there.
	Mark provenance.Mark
	// Namespace is the remote one.
	Namespace string
	// Hashed reports that several local namespaces share the remote one, so that names
	// must tell them apart.
	Hashed bool
	// Named are those of NodeKeys, separated by commas, to which the ClusterBinding gives
	// values of its own: the provider's nodes need not have these.
	Named string
}

// Name is the remote name of a namespaced object: its own, or, where names are hashed,
// a unique one of at most 63 characters.
func (t Target) Name(namespace, name string) string {
	if !t.Hashed {
		return name
	}
	return namespacemap.Hashed(namespace, name)
}

// ClusterScopedName is the remote name of an object without a namespace. It is always
// hashed, over the consumer and the binding too, because all consumers of a provider
// share its cluster-scoped names.
func (t Target) ClusterScopedName(name string) string {
	return namespacemap.Hashed(t.Mark.Origin+"/"+t.Mark.ClusterID, name)
}
