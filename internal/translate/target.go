// Package translate says what an object of the consumer looks like in a
// provider, and what the status of the remote one means for the local one.
//
// Everything here is a pure function of its arguments: no client, no clock, no
// memory of its own. What has to be remembered between two calls, such as which
// labels were copied and which image was sent last, is on the remote object, so
// that a manager that starts anew decides as the one before it would have.
//
// Down, an object is made of fields on an allow-list: every field of the types
// that matter has a decision in a table (fields_*.go), and the tables are the
// code that copies and refuses. A field that Kubernetes adds stays at home until
// somebody decides about it, and a test says so. Up, a status is untrusted input
// that is copied, checked and bounded value by value (status*.go).
//
// The price is that a pod asks for less than it could: what a provider would
// grant beyond pod security baseline is refused here already, since one rule
// that can be read beats one that depends on the provider.
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
	// Hashed tells that several local namespaces share the remote one, so that
	// names have to tell them apart.
	Hashed bool
}

// Name is the remote name of a namespaced object: its own, or, where names are
// hashed, one of at most 63 characters that no other object of the consumer has.
func (t Target) Name(namespace, name string) string {
	if !t.Hashed {
		return name
	}
	return namespacemap.Hashed(namespace, name)
}

// ClusterScopedName is the remote name of an object that has no namespace. It
// is always hashed, over the consumer and the binding too: there is one such
// namespace of names in a provider, for all who use it.
func (t Target) ClusterScopedName(name string) string {
	return namespacemap.Hashed(t.Mark.Origin+"/"+t.Mark.ClusterID, name)
}
