// Package waitingpod reports, on pods that have not been sent, that their provider is
// away. While the provider answers, package engine reports what they wait for.
//
// It writes once for each such pod and outage. Pods that were sent are not written:
// they keep running, and their NamespaceOffloading says that the provider is away.
package waitingpod

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles pods on virtual nodes.
type Reconciler struct {
	Client    client.Client
	Inventory *inventory.Inventory
	Events    events.EventRecorder
	Clock     clock.PassiveClock
}

// Reconcile reports on one pod that its provider is away, if the pod has not been sent.
func (r *Reconciler) Reconcile(ctx context.Context, req inventory.Request) (ctrl.Result, error) {
	waiting, err := r.Inventory.Pod(ctx, req.Binding, req.NamespacedName)
	switch {
	case errors.Is(err, inventory.ErrUnknown) || err == nil && waiting == nil:
		return ctrl.Result{}, nil // Enqueued again when more is known.
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("getting pod %s: %w", req.NamespacedName, err)
	}
	binding := &v1alpha1.ClusterBinding{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: req.Binding}, binding, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := r.Clock.Now()
	reason, again := namespaceoffloading.Outage(binding, now)
	if reason == "" {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	problem := field.Problem{Reason: v1alpha1.ReasonProviderAway, Message: namespaceoffloading.NotSent(binding.Spec.ClusterID, reason)}
	status := pod.ProviderAwayStatus(waiting, problem, now)
	if status == nil {
		return ctrl.Result{}, nil
	}
	return r.report(ctx, waiting, status, problem)
}

// report writes the status, and an event. The pod is the cache's.
func (r *Reconciler) report(ctx context.Context, before *corev1.Pod, status *corev1.PodStatus, problem field.Problem) (ctrl.Result, error) {
	after := before.DeepCopy()
	after.Status = *status
	how := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, how); err != nil {
		return retry.Done(fmt.Errorf("writing the status of pod %s: %w", client.ObjectKeyFromObject(after), err))
	}
	r.Events.Eventf(after, nil, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
	return ctrl.Result{}, nil
}
