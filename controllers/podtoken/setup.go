// Package podtoken gives offloaded pods tokens for the consumer's API.
//
// # How it works
//
// A pod that gets tokens (package toprovider/pod/token) is sent once a Secret with them is in its remote
// namespace. The engine asks for that Secret (Need) when nothing else keeps the pod from being sent. The controller
// requests one token for each audience, bound to the local pod and its UID, and writes them into one Secret. It
// renews them when 70 to 80 % of their life is over: one request for each token, and one write. Annotations of the
// Secret say when. So another manager goes on without a request. The Secret is deleted when the local pod is gone or
// has ended, and created again if a remote pod lacks it.
//
// A provider can write and delete these Secrets, and create pods and Secrets that look like Spillway's. So the remote
// pod counts only where the mapping of its namespace says, and the ledger knows what this process has requested: each
// pod gets its first tokens and its renewals, and the provider can cause few other requests.
//
// # What it trades away
//
// The administrators of the provider can read the tokens while the pod exists. A token stays valid until it
// expires, or until the local pod is gone, also in a provider that is cut off.
package podtoken

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine"
	engdecide "github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/observe"
	"github.com/spillway-io/spillway/internal/retry"
)

// The right to create tokens is in no role of the manager: an administrator binds the ClusterRole
// spillway-pod-tokens in a namespace.

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// name of the kind.
const name = "podtoken"

// workers is how many pods of one provider are handled at a time.
const workers = 8

// Kind gives the pods of each connection their tokens.
type Kind struct {
	// Consumer issues the tokens.
	Consumer client.Client
	// Authority returns the certificates, in PEM, for pods of a ClusterBinding without a caBundle.
	Authority func() ([]byte, error)
	Events    events.EventRecorder
	Clock     clock.PassiveClock
	// Life, if set, is how long a token is valid at most. It is for tests.
	Life time.Duration

	ledgers ledgers
}

var (
	_ engine.FromProvider = &Kind{}
	_ observe.Tokens      = &reconciler{}
)

// Name implements engine.FromProvider.
func (*Kind) Name() string { return name }

// Workers implements engine.FromProvider.
func (*Kind) Workers() int { return workers }

// Backoff implements engine.FromProvider.
func (*Kind) Backoff() workqueue.TypedRateLimiter[engdecide.Key] {
	return retry.Backoff[engdecide.Key]()
}

// Attach implements engine.FromProvider.
func (k *Kind) Attach(_ context.Context, c engine.Connection) (engine.Runner, error) {
	return &reconciler{
		Connection: c, kind: k, issuer: issuer{k, c.API}, pods: &asked{pods: map[types.NamespacedName]waiting{}}, ledger: k.ledgers.of(c.Mark.ClusterID, k.Clock),
	}, nil
}
