// Package controller keeps HostedClusters and their clusters in the cloud in step.
//
// A reconcile reads the object and the cluster (observe). Package state says in which phase they are, and
// package merge which changes to make (decide). The reconcile stores that in the status, and then sends at most
// one request that changes the cluster (act). It reports what it saw as conditions. The status has everything
// that a later reconcile needs before a request is sent, so the process may crash at each call.
//
// The object is read from the API server each time, not from a cache. If an older status lacked a request, the
// request would be sent twice. This is one read in five minutes.
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

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
	"github.com/spillway-io/spillway/internal/retry"
)

// Clouds creates the client of a cluster.
type Clouds interface {
	Client(ctx context.Context, h *v1alpha1.HostedCluster, secret *corev1.Secret) (cloud.Client, error)
	Forget(uid types.UID)
}

// Binder makes a cluster a provider, as spec.binding says.
type Binder interface {
	// Bind is called after each read of a cluster that exists and runs. It returns the condition Bound, or nil for
	// none, and how long to wait at most until the next call. Zero means: until the next read. The source is nil
	// if the cloud gives no access.
	Bind(ctx context.Context, h *v1alpha1.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error)
	// Keep is called instead while the cluster cannot be read, or is left alone. It renews the token of an
	// existing ClusterBinding, and does nothing else.
	Keep(ctx context.Context, h *v1alpha1.HostedCluster, source cloud.Source) (*metav1.Condition, time.Duration, error)
	// Unbind is called until it is done, before the cluster or the object is deleted. gone says that the cluster
	// does not exist any more.
	Unbind(ctx context.Context, h *v1alpha1.HostedCluster, source cloud.Source, gone bool) (bound *metav1.Condition, done bool, err error)
}

// Reconciler keeps one HostedCluster and its cluster in step.
type Reconciler struct {
	// Client reads Secrets and other HostedClusters from a cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Clouds Clouds
	// Namespace is the namespace of the Secrets.
	Namespace string
	// Binder is nil if clusters cannot be bound.
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
	// stored is the object as the API server has it.
	stored  *v1alpha1.HostedCluster
	now     time.Time
	client  cloud.Client
	table   *merge.Table
	seen    state.Seen
	phase   state.Phase
	step    state.Step
	failure error
	// again is when to call the Binder again; zero if at any time.
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
	// This allowance limits the reconcile. Renewing a token has its own.
	asking := cloud.WithAllowance(ctx)
	v.step = v.decide(asking)
	if v.step == state.Release {
		return v.release(asking)
	}
	err := v.act(asking)
	failed := err != nil
	if failed {
		// A decision that could not be stored does not count.
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

// hold adds the finalizer before anything is done in the cloud.
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

// decide observes only what it needs to know the next step.
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

// act does the step. It returns errors of the API server. Errors of the cloud are kept in v.failure, and
// reported.
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

// release removes the finalizer. The cluster is orphaned or gone.
func (v *visit) release(ctx context.Context) (ctrl.Result, error) {
	done, err := v.unbind(ctx)
	if !done {
		v.set(v1alpha1.HostedReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, "The ClusterBinding is being deleted: see the condition Bound")
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

// store writes the status if it has changed, unless somebody has changed the object since it was read. It also
// emits an event for each new decision.
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
			v.event(corev1.EventTypeWarning, "Overwritten", "Sync", "%s: %s wins with %s; %s is overwritten", d.Path, holder[d.Take], d.Kept, d.Lost)
		}
	}
	v.stored = v.h.DeepCopy()
	return nil
}

var holder = map[v1alpha1.Side]string{v1alpha1.SideSpec: "the spec", v1alpha1.SideUpstream: "the cloud"}

// secret returns the Secret that the spec names; nil if there is none.
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
