// Package controller keeps hosted clusters as their HostedClusters have them, and the other
// way round.
//
// One reconcile reads the object and the cluster (observe), asks package state for the
// phase, merges in package merge (decide), stores what was decided in the status, and then
// makes at most one request that changes the cluster (act). It reports what it saw as
// conditions. Everything that a later reconcile needs is in the status before a request is
// made, so a process may crash at each call.
//
// The object is read from the API server each time, not from a cache: what an older status
// does not have of a request would be sent twice. That is one read in five minutes.
package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
	"github.com/spillway-io/spillway/internal/hosted/merge"
	"github.com/spillway-io/spillway/internal/hosted/state"
	"github.com/spillway-io/spillway/internal/retry"
)

// Clouds makes the client of a cluster.
type Clouds interface {
	Client(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret) (cloud.Client, error)
	Forget(uid types.UID)
}

// Binder makes a cluster a provider, as spec.binding says.
type Binder interface {
	// Bind is called after each read of a cluster that is there and runs. It returns the
	// condition Bound, or nil for none, and when it has to be called again at the latest;
	// zero: with the next read. The source is nil if the cloud gives no access.
	Bind(ctx context.Context, h *v1alpha1.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error)
	// Keep is called in its place while the cluster cannot be read, or is left alone: it
	// renews the token of what is bound, and does nothing else.
	Keep(ctx context.Context, h *v1alpha1.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error)
	// Unbind is called before the cluster is deleted, or left, until it is done. gone tells
	// that the cluster is not there any more.
	Unbind(ctx context.Context, h *v1alpha1.HostedCluster, source cloud.Source, gone bool) (bound *metav1.Condition, done bool, err error)
}

// Reconciler keeps one HostedCluster and its cluster in step.
type Reconciler struct {
	// Client reads Secrets, and other HostedClusters, from a cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Clouds Clouds
	// Namespace has the Secrets.
	Namespace string
	// Binder is nil if no cluster can be bound.
	Binder Binder
	Events events.EventRecorder
	Clock  clock.PassiveClock
	// Random returns a number from 0 to 1.
	Random func() float64

	operations operations
}

// visit is one reconcile.
type visit struct {
	*Reconciler
	h *v1alpha1.HostedCluster
	// stored is as the API server has it.
	stored  *v1alpha1.HostedCluster
	now     time.Time
	client  cloud.Client
	table   *merge.Table
	seen    state.Seen
	phase   state.Phase
	step    state.Step
	failure error
	// again is when the Binder has to be called; zero: whenever.
	again time.Duration
}

// Reconcile reads a cluster, and does the next step.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	h := &v1alpha1.HostedCluster{}
	if err := r.Live.Get(ctx, req.NamespacedName, h); err != nil {
		return ctrl.Result{}, retry.IgnoreGone(err)
	}
	v := &visit{Reconciler: r, h: h, stored: h.DeepCopy(), now: r.Clock.Now()}
	if err := v.hold(ctx); err != nil {
		return retry.Done(err)
	}
	// What a cloud may take of this reconcile; to renew a token takes nothing of it.
	asking := cloud.WithAllowance(ctx)
	v.step = v.decide(asking)
	if v.step == state.Release {
		return v.release(asking)
	}
	err := v.act(asking)
	failed := err != nil
	if failed {
		// What could not be stored was not decided.
		v.h = v.stored.DeepCopy()
	}
	err = errors.Join(err, v.bind(ctx, failed))
	if !failed {
		v.report()
	}
	if err = errors.Join(err, v.store(ctx)); err != nil {
		return retry.Done(err)
	}
	return ctrl.Result{RequeueAfter: v.delay()}, nil
}

// hold puts the finalizer on, before anything is done in the cloud.
func (v *visit) hold(ctx context.Context) error {
	if !v.h.DeletionTimestamp.IsZero() || !controllerutil.AddFinalizer(v.h, v1alpha1.FinalizerHosted) {
		return nil
	}
	patch := client.MergeFromWithOptions(v.stored, client.MergeFromWithOptimisticLock{})
	if err := v.Client.Patch(ctx, v.h, patch); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	v.stored = v.h.DeepCopy()
	return nil
}

// decide observes as much as it takes to know the next step.
func (v *visit) decide(ctx context.Context) state.Step {
	deleting := !v.h.DeletionTimestamp.IsZero()
	v.seen.Spec, v.seen.Status, v.seen.Deleting, v.seen.Now = v.h.Spec, v.h.Status, deleting, v.now
	var all v1alpha1.HostedClusterList
	if v.failure = v.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); v.failure != nil {
		return state.Wait
	}
	v.twin(all.Items)
	if phase, step, ok := state.Early(v.seen); ok {
		v.phase = phase
		return step
	}
	if v.failure = v.observe(ctx); v.failure != nil {
		return state.Wait
	}
	v.twin(all.Items)
	var step state.Step
	v.phase, step = state.Next(v.seen)
	return step
}

// act does the step. Its errors are those of the API server; what the cloud answers is
// kept, and reported.
func (v *visit) act(ctx context.Context) error {
	switch v.step {
	case state.Create:
		return v.create(ctx)
	case state.Delete:
		return v.delete(ctx)
	case state.Resume:
		return v.resume(ctx)
	case state.Fail:
		v.fail(v.seen.Operation.Message)
		return v.sync(ctx)
	case state.Sync:
		return v.sync(ctx)
	default:
		return nil
	}
}

// release lets the object go. The cluster is left, or gone.
func (v *visit) release(ctx context.Context) (ctrl.Result, error) {
	done, err := v.unbind(ctx)
	if !done {
		v.set(v1alpha1.HostedReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, "The ClusterBinding is taken back: see the condition Bound")
		if err = errors.Join(err, v.store(ctx)); err != nil {
			return retry.Done(err)
		}
		return ctrl.Result{RequeueAfter: state.Delay(state.Deleting, v.now.Sub(v.h.DeletionTimestamp.Time), 0, 0)}, nil
	}
	v.Clouds.Forget(v.h.UID)
	v.operations.forget(v.h.UID)
	if !controllerutil.RemoveFinalizer(v.h, v1alpha1.FinalizerHosted) {
		return ctrl.Result{}, nil
	}
	patch := client.MergeFromWithOptions(v.stored, client.MergeFromWithOptimisticLock{})
	if err := v.Client.Patch(ctx, v.h, patch); err != nil {
		return retry.Done(fmt.Errorf("removing the finalizer: %w", err))
	}
	return ctrl.Result{}, nil
}

// store writes the status, if it has changed, and nobody has changed the object since it was
// read. What is added to the decisions is an event, too.
func (v *visit) store(ctx context.Context) error {
	if equality.Semantic.DeepEqual(v.h.Status, v.stored.Status) {
		return nil
	}
	decided := v.h.Status.Decisions
	old := v.stored.Status.Decisions
	if err := v.Client.Status().Update(ctx, v.h); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	for _, d := range decided {
		if !slices.ContainsFunc(old, func(o v1alpha1.Decision) bool { return o.Path == d.Path && o.Time.Unix() == d.Time.Unix() }) {
			v.event(corev1.EventTypeWarning, "Overwritten", "Sync", "%s: %s holds with %s; %s is overwritten", d.Path, holder[d.Take], d.Kept, d.Lost)
		}
	}
	v.stored = v.h.DeepCopy()
	return nil
}

var holder = map[v1alpha1.Side]string{v1alpha1.SideSpec: "the spec", v1alpha1.SideUpstream: "the cloud"}

// secret returns that of the spec; nil if there is none.
func (v *visit) secret(ctx context.Context) (*corev1.Secret, error) {
	ref := v.h.Spec.Credentials.SecretRef
	if ref == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := v.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: ref.Name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s: %w", v.Namespace, ref.Name, err)
	}
	return secret, nil
}

func (v *visit) delay() time.Duration {
	var interval time.Duration
	if i := v.h.Spec.Sync.Interval; i != nil {
		interval = i.Duration
	}
	delay := state.Delay(v.phase, v.lasted(v1alpha1.HostedUpdating, v1alpha1.HostedReady), interval, v.Random())
	if v.failure != nil {
		delay = state.AfterError(v.lasted(v1alpha1.HostedSynced, v1alpha1.HostedReady))
	}
	return retry.Sooner(delay, v.again)
}
