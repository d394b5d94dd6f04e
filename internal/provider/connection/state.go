// Package connection describes how a provider is connected. It is apart from
// internal/provider/fleet, which makes the connections, so that decisions about their state need
// no client.
package connection

import (
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Phase of a connection.
type Phase string

const (
	// NotConnected: no connection exists or is being made.
	NotConnected Phase = "NotConnected"
	// Connecting: whether the provider answers is not known yet.
	Connecting Phase = "Connecting"
	// Connected: the provider answers and can be used.
	Connected Phase = "Connected"
	// Disconnected: the provider was tried and cannot be used; it is retried every few
	// seconds.
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
	// Untried is set while the credentials differ from those of the connection before,
	// and the provider has not answered whether it accepts them.
	Untried bool
	// UID is the identity of the provider, once known.
	UID string
	// Authority is a hash of the key of the certificate authority that vouches for the
	// server that gave the UID.
	Authority string
	// Version of the provider, such as v1.36.3, once known.
	Version string
	// LastContact is when the provider last answered.
	LastContact time.Time
	// Ahead is how far the provider's clock is ahead of ours, at least; negative: behind.
	Ahead time.Duration
	// Holder is what the ClusterBinding should remember of the Lease.
	Holder v1alpha1.HolderStatus
	// Fence reports whether we hold the Lease in the provider.
	Fence Fence
	// Limited is what the provider does not let us read, or does not serve, of what we need.
	Limited Lack
	// NoMetrics says why the usage of our pods there is unknown; empty if it is known, or if nobody has
	// asked for it.
	NoMetrics string
	// Limits reports whether what the provider allows is known.
	Limits Limits
	// Classes are what the provider says of the classes that its binding maps to; nil: nothing
	// yet. Another answer is another pointer.
	Classes *Classes
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
	inStep := a.Skew() == b.Skew()
	a.LastContact, a.Ahead, b.LastContact, b.Ahead = time.Time{}, 0, time.Time{}, 0
	return inStep && a == b
}
