// Package stuckpod deletes pods on virtual nodes that their provider refuses, or cannot place, so that their
// controllers create others, which go elsewhere. Before that, it writes to the status of the NamespaceOffloading that
// the provider is full, which keeps the successors away for a while.
//
// A pod that runs costs nothing here. A pod that is given up costs one deletion, and a status write if the refusal is
// news.
package stuckpod

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/stuckpod"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespaceoffloadings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles pods on virtual nodes.
type Reconciler struct {
	Client    client.Client
	Inventory *inventory.Inventory
	Events    events.EventRecorder
	Clock     clock.PassiveClock

	written ownwrites.Versions
	// told has the UIDs of the pods that stay, once their owner knows.
	told sync.Map
}

// Reconcile decides about one pod.
func (r *Reconciler) Reconcile(ctx context.Context, req inventory.Request) (ctrl.Result, error) {
	stuck, err := r.Inventory.Pod(ctx, req.Binding, req.NamespacedName)
	switch {
	case errors.Is(err, inventory.ErrUnknown) || err == nil && stuck == nil:
		r.told.Delete(req)
		return ctrl.Result{}, nil // Enqueued again when more is known.
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("getting pod %s: %w", req.NamespacedName, err)
	}
	binding, nso := &v1alpha1.ClusterBinding{}, &v1alpha1.NamespaceOffloading{}
	bound, err1 := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: req.Binding}, binding)
	offloaded, err2 := consumer.Exists(ctx, r.Client, client.ObjectKey{Namespace: req.Namespace, Name: v1alpha1.OffloadingName}, nso)
	if err := errors.Join(err1, err2); err != nil {
		return ctrl.Result{}, err
	}
	if !offloaded {
		r.written.Forget(client.ObjectKey{Namespace: req.Namespace, Name: v1alpha1.OffloadingName})
	}
	if !bound || !offloaded || !binding.DeletionTimestamp.IsZero() || binding.Spec.Paused { // A paused binding keeps its pods.
		return ctrl.Result{}, nil
	}
	if r.written.IsStale(nso) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	others, err := r.Inventory.Pods(ctx, req.Binding, req.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	plan := stuckpod.Decide(stuckpod.Snapshot{Pod: stuck, ClusterID: binding.Spec.ClusterID, Offloading: nso, Others: others, Now: r.Clock.Now()})
	return r.act(ctx, req, stuck, nso, plan)
}

// act writes the status first, and deletes the pod once the cache shows that. By then, admission mostly knows it, too,
// and the successor does not go to the same provider. Both objects are the cache's.
func (r *Reconciler) act(ctx context.Context, req inventory.Request, stuck *corev1.Pod, nso *v1alpha1.NamespaceOffloading, plan stuckpod.Plan) (ctrl.Result, error) {
	if plan.Status != nil {
		after := nso.DeepCopy()
		after.Status = *plan.Status
		if err := r.Client.Status().Patch(ctx, after, precondition.Locked(nso)); err != nil {
			return retry.Done(fmt.Errorf("writing the status of NamespaceOffloading %s/%s: %w", nso.Namespace, nso.Name, err))
		}
		r.written.Expect(after)
		if len(plan.Status.Full) > 0 && len(after.Status.Full) == 0 {
			return ctrl.Result{}, nil // The definitions are older, and the API server drops it. The successor would come back.
		}
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	if plan.Delete {
		// What has changed about the pod since may be that it has started.
		seen := client.Preconditions{UID: &stuck.UID, ResourceVersion: &stuck.ResourceVersion}
		if err := r.Client.Delete(ctx, stuck.DeepCopy(), seen); err != nil {
			return retry.Done(retry.IgnoreGone(fmt.Errorf("deleting pod %s: %w", req.NamespacedName, err)))
		}
	}
	if plan.Reason != "" && r.isNew(req, stuck.UID, plan.Delete) {
		r.Events.Eventf(stuck, nil, corev1.EventTypeWarning, plan.Reason, "Replace", "%s", conditions.Note(plan.Message))
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}

// isNew reports whether the owner of the pod has not been told yet.
func (r *Reconciler) isNew(req inventory.Request, uid types.UID, deleted bool) bool {
	if deleted {
		r.told.Delete(req)
		return true
	}
	before, known := r.told.Swap(req, uid)
	return !known || before != uid
}
