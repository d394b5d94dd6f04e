// Package offloadingstatus writes to the status of each NamespaceOffloading what the
// NamespaceMaps say about its remote namespaces. It writes nothing else.
package offloadingstatus

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings;namespacemaps;clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles the status of NamespaceOffloadings.
type Reconciler struct {
	Client    client.Client
	Inventory *inventory.Inventory
	// Counter counts the pods that must leave.
	Counter  inventory.Counter
	Settings namespaceoffloading.Settings
	Events   events.EventRecorder
	Clock    clock.PassiveClock
	// Pace limits the reports of one offloading's progress. It does not delay other reports, but progress waits
	// for its turn after them.
	Pace *throttle.Pacer

	written ownwrites.Versions
	firsts  firsts
}

// Reconcile updates the status of one NamespaceOffloading.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nso := &v1alpha1.NamespaceOffloading{}
	if err := r.Client.Get(ctx, req.NamespacedName, nso); err != nil {
		r.Pace.Forget(req.String())
		r.written.Forget(req.NamespacedName)
		r.firsts.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(nso.Finalizers) == 0 {
		return ctrl.Result{}, nil // Not started yet, or done: the finalizer triggers the next reconcile.
	}
	if r.written.IsStale(nso) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	world, err := inventory.ReadProviders(ctx, r.Client, r.Counter, r.Inventory, nso)
	if errors.Is(err, inventory.ErrUnknown) {
		return ctrl.Result{}, nil // It is enqueued again once the pods are known.
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.waiting(ctx, nso, &world); err != nil {
		return ctrl.Result{}, err
	}
	snapshot := namespaceoffloading.Observe(nso, world, r.Settings, r.Clock.Now())
	if isFinalizerDue(nso, snapshot) {
		return ctrl.Result{}, nil
	}
	plan := namespaceoffloading.Decide(snapshot)
	if equality.Semantic.DeepEqual(nso.Status, plan.Status) {
		return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
	}
	if wait := r.Pace.Wait(req.String()); plan.Progress && wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err = r.report(ctx, nso, plan.Status)
	if err == nil && plan.Outdated != "" {
		r.Events.Eventf(nso, nil, corev1.EventTypeWarning, v1alpha1.ReasonPodsOutdated, "Report", "%s", conditions.Note(plan.Outdated))
	}
	result, err := retry.Done(err)
	result.RequeueAfter = retry.Sooner(result.RequeueAfter, plan.RecheckAfter)
	return result, err
}

// waiting finds the pods that wait for a node and that the status names. They have the affinity of an earlier
// or a deleted offloading, or can run on virtual nodes only. The cache has only pods without a node.
func (r *Reconciler) waiting(ctx context.Context, nso *v1alpha1.NamespaceOffloading, world *namespaceoffloading.Providers) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(nso.Namespace)); err != nil {
		return fmt.Errorf("listing the pods of namespace %s that wait for a node: %w", nso.Namespace, err)
	}
	var outdated, virtual, unfit []types.NamespacedName
	var unfitAfter time.Duration
	tiers, _ := namespaceoffloading.Tiers(nso, world.Bindings)
	full := spill.Read(nso)
	by := map[unscheduledpod.Fate][]types.NamespacedName{}
	for i := range pods.Items {
		pod, name := &pods.Items[i], client.ObjectKeyFromObject(&pods.Items[i])
		if unscheduledpod.Outdated(pod, nso) {
			outdated = append(outdated, name)
		}
		if pod.DeletionTimestamp.IsZero() && unscheduledpod.OnlyVirtual(pod) {
			virtual = append(virtual, name)
		}
		if len(tiers) > 0 {
			usable, reopens := full.Usable(unscheduledpod.Known(tiers, pod), nso.Namespace, spill.SizeOf(pod), r.Clock.Now())
			next := spill.Next(usable, unscheduledpod.Waiting(pod), r.Clock.Now())
			if unfitAfter = retry.Sooner(retry.Sooner(unfitAfter, next.Wait), reopens); next.FitsNone && reopens == 0 {
				unfit = append(unfit, name)
			}
		}
		fate := unscheduledpod.FateOf(pod, nso, world.Bindings)
		by[fate] = append(by[fate], name)
	}
	world.Outdated = eviction.Summarise(outdated, nil)
	world.Waiting = namespaceoffloading.Waiting{
		Recreated: eviction.Summarise(by[unscheduledpod.Recreated], r.Inventory.RefusedWaiting(nso.Namespace)), Stranded: eviction.Summarise(by[unscheduledpod.Stranded], nil), Virtual: eviction.Summarise(virtual, nil),
		Unfit: eviction.Summarise(unfit, nil), UnfitAfter: unfitAfter,
	}
	return nil
}

// isFinalizerDue reports whether the finalizer is about to be removed. A status write would get in the way, and
// nobody would read it. If another finalizer keeps the object, the removal of Spillway's triggers the next
// reconcile.
func isFinalizerDue(nso *v1alpha1.NamespaceOffloading, snapshot namespaceoffloading.Snapshot) bool {
	if nso.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(nso, v1alpha1.FinalizerOffloading) {
		return false
	}
	removable, _ := namespaceoffloading.Removable(snapshot)
	return removable
}

func (r *Reconciler) report(ctx context.Context, nso *v1alpha1.NamespaceOffloading, status v1alpha1.NamespaceOffloadingStatus) error {
	before := nso.DeepCopy()
	r.firsts.note(nso)
	nso.Status = status
	if err := r.Client.Status().Patch(ctx, nso, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the status of NamespaceOffloading %s/%s: %w", nso.Namespace, nso.Name, err)
	}
	r.Pace.Wrote(client.ObjectKeyFromObject(nso).String())
	r.written.Expect(nso)
	if r.firsts.ready(nso) {
		metrics.OffloadingReady.Observe(r.Clock.Since(nso.CreationTimestamp.Time).Seconds())
	}
	return nil
}
