// Package controller keeps HostedClusters and their clusters in the cloud in step.
//
// A reconcile reads the object and the cluster (observe). Package state says in which phase they are, and
// package merge which changes to make (decide). The reconcile stores that in the status, and then sends at most
// one request that changes the cluster (act). If the cloud can work on several pools at a time, the next reconcile
// sends the next request while the first is in flight. A refused request stays in the status, and holds up no other.
// The reconcile reports what it saw as conditions. The status has everything that a later reconcile needs before a
// request is sent, so the process may crash at each call.
//
// The object is read from the API server each time, not from a cache. If an older status lacked a request, the
// request would be sent twice. This is one read in five minutes.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
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
	seats      seats
}

// Reconcile reads a cluster, and does the next step. If the account of the cluster has no free seat, it does
// so once there is one.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	h := &v1alpha1.HostedCluster{}
	if err := r.Live.Get(ctx, req.NamespacedName, h); err != nil {
		r.seats.gone(req)
		return ctrl.Result{}, retry.IgnoreGone(err)
	}
	account := account(h)
	if !r.seats.take(req, account) {
		return ctrl.Result{}, nil
	}
	defer r.seats.leave(account)
	// This allowance limits the reconcile. Renewing a token has its own.
	asking, done := cloud.WithAllowance(ctx)
	defer done()
	o := &object{api: r.Client, events: r.Events, h: h, stored: h.DeepCopy(), now: r.Clock.Now()}
	v := &visit{observation: &observation{object: o, clouds: r.Clouds, namespace: r.Namespace, operations: &r.operations}}
	if h.DeletionTimestamp.IsZero() && !h.Spec.Paused {
		if probe, may := r.seats.mayRead(req, account, v.now); !may {
			return r.renew(ctx, v, probe.Name)
		}
	}
	result, err := r.step(ctx, asking, v)
	if hung := errors.Is(v.failure, context.DeadlineExceeded); hung || v.asked {
		r.seats.heard(account, hung, r.Clock.Now())
	}
	return result, err
}

// renew only renews the token of the binding. The cluster itself is read once its cloud answers the probe.
func (r *Reconciler) renew(ctx context.Context, v *visit, probe string) (ctrl.Result, error) {
	b := &binding{visit: v, binder: r.Binder}
	var err error
	if b.binder != nil {
		err = b.keep(ctx)
	}
	v.failure = fmt.Errorf("the cloud does not answer for these credentials; cluster %s is tried", probe)
	v.report()
	if err = errors.Join(err, v.store(ctx)); err != nil {
		return retry.Done(err)
	}
	return ctrl.Result{RequeueAfter: retry.Sooner(state.Hung, b.again)}, nil
}

// step sends the requests to the cloud with the context asking.
func (r *Reconciler) step(ctx, asking context.Context, v *visit) (ctrl.Result, error) {
	if err := v.hold(ctx); err != nil {
		return retry.Done(err)
	}
	b := &binding{visit: v, binder: r.Binder, step: v.decide(asking)}
	if b.step == state.Release {
		return deletion{b}.release(asking)
	}
	err := act(asking, b)
	failed, invalid := err != nil, apierrors.IsInvalid(err)
	if failed {
		// A decision that could not be stored does not count.
		v.h = v.stored.DeepCopy()
	}
	if invalid {
		// Our own API has no such value, for the spec or for the status. Retrying at once would not help.
		v.phase, err = "", v.invalid(err)
	}
	err = errors.Join(err, b.bind(ctx, failed))
	if !failed || invalid {
		v.report()
	}
	if err = errors.Join(err, v.store(ctx)); err != nil {
		return retry.Done(err)
	}
	return ctrl.Result{RequeueAfter: retry.Sooner(v.delay(r.Random()), b.again)}, nil
}

// visit is one reconcile: what it sees of the object and the cluster, and what comes of it.
type visit struct {
	*observation
	phase   state.Phase
	failure error
	// tried are the operations that were found to have failed.
	tried []v1alpha1.Operation
	// more: there are requests that need not wait for anything.
	more bool
}

// decide observes only what it needs to know the next step.
func (v *visit) decide(ctx context.Context) state.Step {
	deleting := !v.h.DeletionTimestamp.IsZero()
	v.seen.Spec, v.seen.Status, v.seen.Deleting, v.seen.Now = v.h.Spec, v.h.Status, deleting, v.now
	var all v1alpha1.HostedClusterList
	if v.failure = v.api.List(ctx, &all, client.UnsafeDisableDeepCopy); v.failure != nil {
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

// act does the step. It returns errors of the API server. Errors of the cloud are kept in visit.failure, and
// reported.
func act(ctx context.Context, b *binding) error {
	s := syncer{requests{b.visit}}
	switch b.step {
	case state.Create:
		return s.create(ctx)
	case state.Delete:
		return deletion{b}.delete(ctx)
	case state.Resume:
		return s.resume(ctx)
	case state.Fail, state.Sync:
		return s.sync(ctx)
	default:
		return nil
	}
}

// shown is the phase as it is reported. If a request has failed while others are in flight, the operator waits for
// these.
func (v *visit) shown() state.Phase {
	if (v.phase == state.Failed || v.phase == state.Idle) && v.h.Status.InFlight() != nil {
		return state.Waiting
	}
	return v.phase
}

func (v *visit) delay(random float64) time.Duration {
	if v.failure != nil {
		return state.AfterError(v.lasted(v1alpha1.HostedSynced, v1alpha1.HostedReady))
	}
	var interval time.Duration
	if i := v.h.Spec.Sync.Interval; i != nil {
		interval = i.Duration
	}
	delay := state.Delay(v.shown(), v.lasted(v1alpha1.HostedUpdating, v1alpha1.HostedReady), interval, random)
	if v.more {
		return state.Soon
	}
	for _, op := range v.h.Status.Operations {
		if op.RetryAt != nil {
			delay = retry.Sooner(delay, op.RetryAt.Sub(v.now))
		}
	}
	return delay
}
