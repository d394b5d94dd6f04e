// Package volume shows volumes that a provider has created for claims of the consumer, as PersistentVolumes of the
// consumer. Kubernetes binds them to the claims.
//
// # How it works
//
// Package toprovider/persistentvolumeclaim sends a claim without a volume. When the provider has bound it, or waits
// for its first pod, this package creates the consumer's volume. Later it shows the volume's new capacity.
//
// The volume is the record of what the data's owner wants. When the claim is gone, Kubernetes sets the volume's
// phase to Released. Then, with the policy Delete, package toprovider/persistentvolumeclaim deletes the claim in the
// provider, and this package the volume. With the policy Retain, both stay.
//
// # What it trades away
//
// A volume that somebody deletes by hand is no record any more. Then the claim stays in the provider, and only its
// administrator can delete it. A volume whose label somebody removes is labelled again.
package volume

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get

// The other rights are in config/rbac/volumes_role.yaml, which a platform engineer binds.

const (
	// name of the kind.
	name = "volume"
	// interval and most are the first and the longest time between two changes of one claim or its volume.
	interval = time.Second
	most     = 30 * time.Second
)

// Kind is the kind of such volumes. An object's key has the name and the UID of its claim.
type Kind struct {
	// Consumer writes. Live reads from the consumer without a cache.
	Consumer client.Client
	Live     client.Reader
	Events   events.EventRecorder
	Clock    clock.PassiveClock
}

var _ engine.FromProvider = &Kind{}

// Name implements engine.FromProvider.
func (*Kind) Name() string { return name }

// Workers implements engine.FromProvider.
func (*Kind) Workers() int { return 1 }

// Backoff implements engine.FromProvider.
func (*Kind) Backoff() workqueue.TypedRateLimiter[decide.Key] { return retry.Backoff[decide.Key]() }

// Attach implements engine.FromProvider.
func (k *Kind) Attach(_ context.Context, c engine.Connection) (engine.Runner, error) {
	return &reconciler{Connection: c, consumer: k.Consumer, live: k.Live, events: k.Events, told: map[decide.Key]string{}, unclaimed: map[decide.Key]time.Time{}, clock: k.Clock, pace: throttle.New(interval, most, k.Clock)}, nil
}
