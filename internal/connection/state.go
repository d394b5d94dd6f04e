// Package connection says how a provider is connected. It is apart from
// internal/fleet, which connects them, so that decisions about the state of a
// connection need no client.
package connection

import (
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Phase of a connection.
type Phase string

const (
	// NotConnected: there is no connection, and none is being made.
	NotConnected Phase = "NotConnected"
	// Connecting: it is not known yet whether the provider answers.
	Connecting Phase = "Connecting"
	// Connected: the provider answers, and can be used.
	Connected Phase = "Connected"
	// Disconnected: the provider was tried, and cannot be used; it is tried
	// again every few seconds.
	Disconnected Phase = "Disconnected"
	// Left: the binding has left the provider, and its Lease there is gone.
	Left Phase = "Left"
)

// State of a connection.
type State struct {
	Phase Phase
	// Reason and Message say why a provider is Disconnected. Reason is one of
	// those of the conditions Connected and CredentialsValid.
	Reason, Message string
	// Untried is set while the credentials are others than those of the connection
	// before, and the provider has not answered whether it accepts them.
	Untried bool
	// UID is the identity of the provider, once it is known.
	UID string
	// Authority is a hash of the key of the certificate authority that vouches for
	// who has said so.
	Authority string
	// Version of the provider, such as v1.36.3, once it is known.
	Version string
	// LastContact is when the provider last answered.
	LastContact time.Time
	// Holder is what the ClusterBinding should remember of the Lease.
	Holder v1alpha1.HolderStatus
	// Fence tells of the Lease in the provider.
	Fence Fence
	// Limited says what the provider does not let us read, such as "list and watch
	// configmaps"; empty: nothing that we need.
	Limited string
	// Limits reports whether what the provider allows is known.
	Limits Limits
}

// Limits reports whether what a provider allows is known.
type Limits struct {
	// Reason is one of those of the condition LimitsKnown; empty: not known yet.
	Reason, Message string
}

// Fence reports whether the Lease in a provider is held.
type Fence struct {
	// Reason is one of those of the condition Fenced; empty: not known.
	Reason, Message string
}

// CredentialsRefused reports whether the provider can be reached, but does not
// accept the credentials.
func (s State) CredentialsRefused() bool {
	return s.Phase == Disconnected && (s.Reason == v1alpha1.ReasonUnauthorized || s.Reason == v1alpha1.ReasonForbidden)
}

// SameVerdict reports whether two states differ in nothing that anybody waits for.
func SameVerdict(a, b State) bool {
	a.LastContact, b.LastContact = time.Time{}, time.Time{}
	return a == b
}
