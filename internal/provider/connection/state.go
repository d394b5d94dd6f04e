// Package connection describes how a provider is connected. It is separate from internal/provider/fleet, which
// connects to providers, so that decisions about the state need no client.
package connection

import (
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Phase is the phase of a connection.
type Phase string

const (
	// NotConnected means that no connection exists, and none is being established.
	NotConnected Phase = "NotConnected"
	// Connecting means that it is not known yet whether the provider answers.
	Connecting Phase = "Connecting"
	// Connected means that the provider answers and can be used.
	Connected Phase = "Connected"
	// Disconnected means that the provider was tried and cannot be used. The manager retries every few seconds.
	Disconnected Phase = "Disconnected"
	// Left means that the binding has left the provider, and its Lease there is gone.
	Left Phase = "Left"
)

// State is the state of a connection.
type State struct {
	Phase Phase
	// Reason and Message say why a provider is Disconnected. Reason is a reason of the conditions Connected and
	// CredentialsValid.
	Reason, Message string
	// Untried is set while the credentials differ from those of the previous connection, and the provider has
	// not said whether it accepts them.
	Untried bool
	// UID is the identity of the provider, once known.
	UID string
	// Authority is a hash of a certificate authority's key. That authority vouches for the server that gave the
	// UID.
	Authority string
	// Version is the version of the provider, such as v1.36.3, once known.
	Version string
	// LastContact is when the provider last answered.
	LastContact time.Time
	// ClockSkew is how far the provider's clock is ahead of the manager's, at least. Negative means behind.
	ClockSkew time.Duration
	// Holder is what the ClusterBinding should remember of the Lease.
	Holder v1alpha1.HolderStatus
	// Fence reports whether this manager holds the Lease in the provider.
	Fence Fence
	// Limited says which of the needed kinds the provider does not let the manager read, or does not serve.
	Limited Unreadable
	// NoMetrics says why the usage of the consumer's pods there is unknown. It is empty if the usage is known,
	// or nobody has asked for it.
	NoMetrics string
	// NoForeign says why it is unknown what other pods there request. It is empty if that is known, or not needed.
	NoForeign string
	// Limits reports whether what the provider allows is known.
	Limits Limits
	// Classes is what the provider says about the classes that its binding maps to. Nil means that it has said
	// nothing yet. Another answer is another pointer.
	Classes *Classes
	// Room is what the provider's CSI drivers report of the room for volumes.
	Room *Room
}

// Limits reports whether what a provider allows is known.
type Limits struct {
	// Reason is a reason of the condition LimitsKnown. It is empty if nothing is known yet.
	Reason, Message string
}

// Fence reports whether the Lease in a provider is held.
type Fence struct {
	// Reason is a reason of the condition Fenced. It is empty if nothing is known.
	Reason, Message string
}

// CredentialsRefused reports whether the provider can be reached but does not accept the credentials.
func (s State) CredentialsRefused() bool {
	return s.Phase == Disconnected && (s.Reason == v1alpha1.ReasonUnauthorized || s.Reason == v1alpha1.ReasonForbidden)
}

// SameVerdict reports whether two states are the same in everything that anybody waits for.
func SameVerdict(a, b State) bool {
	inStep := a.Skew() == b.Skew()
	a.LastContact, a.ClockSkew, b.LastContact, b.ClockSkew = time.Time{}, 0, time.Time{}, 0
	return inStep && a == b
}
