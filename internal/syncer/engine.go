// Package syncer brings objects of the consumer to the providers, and their
// status back.
//
// # How it works
//
// The Engine is told of each provider that is connected, and starts for it one
// controller for each Kind, with a queue and workers of its own; they end with
// the connection. A pass over one object observes it in both clusters, out of
// caches; decides what is to be done, without any I/O; does it; and looks again,
// until nothing is left to be done. The caches hold no content of ConfigMaps and
// Secrets: what is to be sent of it is read in that pass. What has been written is
// seen at once (package ownwrites), so that no pass waits for a cache.
//
// What is the same for all kinds is in the engine, once: whose an object is,
// which UID, names that are taken, what was refused and when to try again, what
// is in the provider and should not be. A Kind is a Syncer, which decides, and
// for most kinds that is copies with a pure translation.
//
// Objects that others need (a pod's ConfigMaps) are sent because the needing
// object is there, by a controller of their own. That tells the needing ones
// what has become of it. So all writes about one object come from one place.
//
// # What it trades away
//
// There are as many controllers as kinds times providers; each costs some
// goroutines. In return a provider that hangs holds up nobody else, and what
// belongs to one provider can be taken away whole.
package syncer

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
	"github.com/spillway-io/spillway/internal/views"
)

// Engine starts the controllers of each connection.
type Engine struct {
	Kinds []Registration
	Views *views.Views
	// Consumer writes; Live reads without a cache; Cache has the ClusterBindings and
	// NamespaceMaps.
	Consumer client.Client
	Live     client.Reader
	Cache    cache.Cache
	// Origin is the identity of the consumer.
	Origin string
	// ManagerNamespace is never sent anywhere.
	ManagerNamespace string
	Events           events.EventRecorder
	Clock            clock.WithTicker
}

var (
	_ mcmanager.Runnable             = &Engine{}
	_ manager.LeaderElectionRunnable = &Engine{}
)

// NeedLeaderElection is true: two managers would do everything twice.
func (*Engine) NeedLeaderElection() bool { return true }

// Start only waits: all that there is to do comes with Engage.
func (e *Engine) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage starts the controllers of a provider, which end with ctx. It does not
// block: what cannot be started ends the connection.
func (e *Engine) Engage(ctx context.Context, name multicluster.ClusterName, provider cluster.Cluster) error {
	if name == "" {
		return nil // The consumer itself.
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("syncer"))
	go func() {
		if err := e.run(ctx, string(name), provider); err != nil {
			connection.End(ctx, fmt.Errorf("nothing can be synced with this provider: %w", err))
		}
	}()
	return nil
}

func (e *Engine) run(ctx context.Context, name string, provider cluster.Cluster) error {
	binding := &v1alpha1.ClusterBinding{}
	if err := e.Consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", name, err)
	}
	if err := e.Views.Open(ctx, name, binding.Spec.ClusterID, binding.VirtualNodeName()); err != nil {
		return err
	}
	view := e.Views.Get(name)
	if view == nil || !view.WaitForCacheSync(ctx) || !e.Views.Catalogue.WaitForCacheSync(ctx) {
		return fmt.Errorf("filling the view of ClusterBinding %s: %w", name, context.Cause(ctx))
	}
	p := e.pair(binding, view, provider)
	if err := p.load(ctx, e.Consumer, e.world(ctx)); err != nil {
		return err
	}
	fleet.FollowLimits(provider, func(limits *translate.Limits) { p.limit(ctx, limits) })
	// A kind that comes back, or goes, may be what anything waits for, or needs.
	p.rights.Follow(ctx, func() { p.enqueueNamespace(ctx, "") })
	for _, kind := range p.kinds {
		if err := kind.start(ctx); err != nil {
			return err
		}
	}
	return errors.Join(p.follow(ctx, e.Cache), p.followOffloadings(ctx, e.Cache))
}

func (e *Engine) pair(binding *v1alpha1.ClusterBinding, view *views.View, provider cluster.Cluster) *pair {
	p := &pair{
		binding: binding.Name, clusterID: binding.Spec.ClusterID,
		mark:     provenance.Mark{Origin: e.Origin, ClusterID: binding.Spec.ClusterID, Account: fleet.AccountOf(provider)},
		consumer: e.Consumer, live: e.Live, provider: provider, rights: fleet.RightsOf(provider), view: view, catalogueCache: e.Views.Catalogue,
		local:     ownwrites.New(view, e.Clock).Holding(views.Held),
		remote:    ownwrites.New(provider.GetCache(), e.Clock).Holding(translate.WithoutContent),
		catalogue: ownwrites.New(e.Views.Catalogue, e.Clock),
		exceeds:   func(before, after client.Object) string { return fleet.Exceeds(provider, before, after) },
		events:    e.Events, clock: e.Clock, kinds: map[string]attached{},
	}
	for _, kind := range e.Kinds {
		p.kinds[kind.KindName()] = kind.attach(p)
	}
	return p
}
