// Package podevent shows the providers' warnings on the consumer's objects, and their normal events, if a
// ClusterBinding asks for these. So kubectl describe says why the
// provider cannot pull an image, schedule a pod, or create a load balancer.
//
// # How it works
//
// For each connected provider there is one watch of its events. It begins when the provider has a namespace of
// ours, and ends with the connection. One object of a provider is handled at a time: two could be about the same
// local object, if a provider says so. Events carry no label of ours, so other tenants'
// events arrive as well, and are not kept. The buffer (package decide/podevent) is bounded. It
// gets only events about an object of a kind that is sent, in one of our namespaces. The
// consumer gets an event only if the remote object has our mark and the event's UID, and
// represents a local object that the provider was given.
//
// # What it trades away
//
// The consumer's own events of this kind are cached, trimmed, so that a starting
// manager writes nothing that is already shown. That is one watch for all providers. A
// provider that does not let its events be read loses the warnings, and nothing else.
package podevent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// +kubebuilder:rbac:groups="",resources=events,verbs=list;watch;create;patch

// name of the kind.
const name = "podevent"

// fieldShown indexes the consumer's events by shownOn.
const fieldShown = "spillway.shown"

// shownOn returns the key of a provider's events about an object.
func shownOn(object types.UID, clusterID string) string { return string(object) + "/" + clusterID }

// Kind is the kind of warnings about what is sent.
type Kind struct {
	// Kinds are those that are sent.
	Kinds []engine.Registration
	// Consumer writes.
	Consumer client.Client
	Clock    clock.PassiveClock

	shown cache.Cache
	// local reads shown, corrected by what has been written.
	local *ownwrites.Reader
	// created are the events made for each provider. A connection that begins anew goes on with it.
	created *throttle.Allowance[string]
}

var (
	_ engine.FromProvider            = &Kind{}
	_ manager.LeaderElectionRunnable = &Kind{}
)

// SetupWithManager creates the cache of the consumer's events, and adds it to the
// manager.
func (k *Kind) SetupWithManager(local ctrl.Manager) error {
	var err error
	if k.shown, err = newShown(local); err != nil {
		return fmt.Errorf("making the cache of events: %w", err)
	}
	k.local = ownwrites.New(k.shown, k.Clock)
	k.created = throttle.NewAllowance[string](fewCreated, createInterval, k.Clock)
	return local.Add(k)
}

// newShown creates a cache of those events in the consumer that come from here.
func newShown(local ctrl.Manager) (cache.Cache, error) {
	ours := fields.Set{"reportingComponent": podevent.Component}
	shown, err := cache.New(local.GetConfig(), cache.Options{
		HTTPClient: local.GetHTTPClient(), Scheme: local.GetScheme(), Mapper: local.GetRESTMapper(),
		ByObject:                     map[client.Object]cache.ByObject{&corev1.Event{}: {Field: ours.AsSelector(), Transform: trim}},
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
	})
	if err != nil {
		return nil, err
	}
	return shown, shown.IndexField(context.Background(), &corev1.Event{}, fieldShown, indexed)
}

func indexed(obj client.Object) []string {
	event, ok := obj.(*corev1.Event)
	if !ok {
		return nil
	}
	return []string{shownOn(event.InvolvedObject.UID, event.ReportingInstance)}
}

// NeedLeaderElection is true: only a manager that writes compares.
func (*Kind) NeedLeaderElection() bool { return true }

// Start runs the cache of the consumer's events until ctx ends.
func (k *Kind) Start(ctx context.Context) error {
	// What the cache shows need not be remembered: most events are written once.
	err := informer.Watch(ctx, k.shown, &corev1.Event{}, func(change informer.Change) { k.local.Forget(change.Object()) })
	if err != nil {
		return err
	}
	return k.shown.Start(ctx)
}

// Name implements engine.FromProvider.
func (*Kind) Name() string { return name }

// Workers implements engine.FromProvider: two objects of a provider may be about the same local object.
func (*Kind) Workers() int { return 1 }

// Backoff implements engine.FromProvider.
func (*Kind) Backoff() workqueue.TypedRateLimiter[decide.Key] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[decide.Key](firstFailure, mostFailure)
}

// Attach implements engine.FromProvider.
func (k *Kind) Attach(ctx context.Context, c engine.Connection) (engine.Runner, error) {
	if !k.shown.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("reading the consumer's events: %w", context.Cause(ctx))
	}
	events, err := eventsOf(c.Provider)
	if err != nil {
		return nil, fmt.Errorf("making a client for the events of provider %s: %w", c.Mark.ClusterID, err)
	}
	kinds, err := eventKindsOf(k.Kinds, k.Consumer.Scheme())
	if err != nil {
		return nil, err
	}
	return &reconciler{
		Connection: c, kinds: kinds, consumer: k.Consumer, remote: c.Provider.GetCache(), shown: k.shown, local: k.local, clock: k.Clock, events: events,
		changed: make(chan struct{}, 1),
		buffer:  podevent.NewBuffer(podevent.MostKept),
		early:   podevent.NewBuffer(podevent.MostEarly),
		memory:  &memory{clock: k.Clock},
		created: k.created,
	}, nil
}

// eventsOf is a client for the events of a provider. The cluster's own would cache them
// all.
func eventsOf(provider cluster.Cluster) (corev1client.EventInterface, error) {
	core, err := corev1client.NewForConfigAndClient(provider.GetConfig(), provider.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return core.Events(corev1.NamespaceAll), nil
}
