// Package podevent shows the providers' warnings on the consumer's pods, so that
// kubectl describe pod says why an image is not pulled there, or a pod not scheduled.
//
// # How it works
//
// For each connected provider there is one watch of its warnings about pods, and one
// controller; they end with the connection. Events carry no label of ours, so those of
// other tenants arrive as well, and are not kept: only those about a pod in one of our
// namespaces get on the shelf (package decide/podevent), which is bounded, and only
// those about a remote pod with our mark and that UID get to the consumer.
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
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/informer"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/views"
)

// +kubebuilder:rbac:groups="",resources=events,verbs=list;watch;create;patch

// fieldPod indexes the consumer's events by the UID of the pod that they are about.
const fieldPod = "spillway.pod"

// Engine starts the controller of each connection.
type Engine struct {
	// Consumer writes; Cache has the ClusterBindings.
	Consumer client.Client
	Cache    cache.Cache
	Views    *views.Views
	// Origin is the identity of the consumer.
	Origin string
	Clock  clock.PassiveClock

	shown cache.Cache
	// local reads shown, corrected by what has been written.
	local *ownwrites.Reader
}

var (
	_ mcmanager.Runnable             = &Engine{}
	_ manager.LeaderElectionRunnable = &Engine{}
)

// SetupWithManager creates the cache of the consumer's events, and adds the Engine to
// the manager.
func (e *Engine) SetupWithManager(mgr mcmanager.Manager) error {
	var err error
	if e.shown, err = newShown(mgr.GetLocalManager()); err != nil {
		return fmt.Errorf("making the cache of events: %w", err)
	}
	e.local = ownwrites.New(e.shown, e.Clock)
	return mgr.Add(e)
}

// newShown creates a cache of those events in the consumer that come from here.
func newShown(local ctrl.Manager) (cache.Cache, error) {
	ours := fields.Set{"reportingComponent": podevent.Component, "involvedObject.kind": "Pod"}
	shown, err := cache.New(local.GetConfig(), cache.Options{
		HTTPClient: local.GetHTTPClient(), Scheme: local.GetScheme(), Mapper: local.GetRESTMapper(),
		ByObject:                     map[client.Object]cache.ByObject{&corev1.Event{}: {Field: ours.AsSelector(), Transform: trim}},
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
	})
	if err != nil {
		return nil, err
	}
	return shown, shown.IndexField(context.Background(), &corev1.Event{}, fieldPod, func(obj client.Object) []string {
		event, ok := obj.(*corev1.Event)
		if !ok {
			return nil
		}
		return []string{string(event.InvolvedObject.UID)}
	})
}

// NeedLeaderElection is true: two managers would write everything twice.
func (*Engine) NeedLeaderElection() bool { return true }

// Start runs the cache of the consumer's events until ctx ends.
func (e *Engine) Start(ctx context.Context) error {
	// What the cache shows need not be remembered: most events are written once.
	err := informer.Watch(ctx, e.shown, &corev1.Event{}, func(change informer.Change) { e.local.Forget(change.Object()) })
	if err != nil {
		return err
	}
	return e.shown.Start(ctx)
}

// Engage starts the controller of a provider, which ends with ctx. It does not block:
// one that cannot start ends the connection.
func (e *Engine) Engage(ctx context.Context, name multicluster.ClusterName, provider cluster.Cluster) error {
	if name == "" {
		return nil // The consumer itself.
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("podevent"))
	go func() {
		if err := e.run(ctx, string(name), provider); err != nil {
			connection.End(ctx, fmt.Errorf("no warnings of this provider can be shown on pods: %w", err))
		}
	}()
	return nil
}

// run starts the controller, and watches the provider until ctx ends.
func (e *Engine) run(ctx context.Context, name string, provider cluster.Cluster) error {
	binding := &v1alpha1.ClusterBinding{}
	if err := e.Consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", name, err)
	}
	if err := e.Views.Open(ctx, name, binding.Spec.ClusterID, binding.VirtualNodeName()); err != nil {
		return err
	}
	view := e.Views.Get(name)
	if view == nil || !view.WaitForCacheSync(ctx) || !e.shown.WaitForCacheSync(ctx) {
		return fmt.Errorf("reading the pods and events of ClusterBinding %s: %w", name, context.Cause(ctx))
	}
	events, err := eventsOf(provider)
	if err != nil {
		return fmt.Errorf("making a client for the events of provider %s: %w", binding.Spec.ClusterID, err)
	}
	c := &reconciler{
		consumer: e.Consumer, view: view, remote: provider.GetCache(), shown: e.shown, local: e.local, clock: e.Clock,
		mark:   provenance.Mark{Origin: e.Origin, ClusterID: binding.Spec.ClusterID},
		shelf:  podevent.NewShelf(podevent.MostKept),
		early:  podevent.NewShelf(podevent.MostEarly),
		memory: newMemory(e.Clock),
	}
	return c.start(ctx, name, e.Cache, events)
}

// eventsOf is a client for the events of a provider. The cluster's own would cache them
// all.
func eventsOf(provider cluster.Cluster) (corev1client.EventInterface, error) {
	config := rest.CopyConfig(provider.GetConfig())
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := corev1client.NewForConfigAndClient(config, provider.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return core.Events(corev1.NamespaceAll), nil
}
