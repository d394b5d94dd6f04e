// Package namespaceoffloading turns NamespaceOffloadings into the entries of NamespaceMaps. It has two
// reconcilers. Lifecycle handles one NamespaceOffloading, from its finalizer to its end. Mapping writes the
// spec of one NamespaceMap from all NamespaceOffloadings that select its provider, so that many changes are one
// write.
package namespaceoffloading

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings/finalizers,verbs=update
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespacemaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Lifecycle adds the finalizer to each NamespaceOffloading, and removes it when the ordered deletion is done.
// During the deletion, it evicts the pods that wait for virtual nodes in vain. controllers/eviction evicts the
// pods on virtual nodes.
type Lifecycle struct {
	Client     client.Client
	Kubernetes kubernetes.Interface
	Inventory  *inventory.Inventory
	// Counter counts the pods that must leave.
	Counter  inventory.Counter
	Settings namespaceoffloading.Settings
	Events   events.EventRecorder
	Clock    clock.PassiveClock
}

// Reconcile reconciles one NamespaceOffloading.
func (r *Lifecycle) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nso := &v1alpha1.NamespaceOffloading{}
	if err := r.Client.Get(ctx, req.NamespacedName, nso); err != nil {
		r.Inventory.NoteWaiting(req.Namespace, nil)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := nso.DeepCopy()
	if nso.DeletionTimestamp.IsZero() {
		if !controllerutil.AddFinalizer(nso, v1alpha1.FinalizerOffloading) {
			return ctrl.Result{}, nil
		}
		return retry.Done(r.patch(ctx, nso, before))
	}
	if !controllerutil.ContainsFinalizer(nso, v1alpha1.FinalizerOffloading) {
		return ctrl.Result{}, nil
	}
	stranded, refused, err := r.release(ctx, nso)
	if err != nil {
		return ctrl.Result{}, err
	}
	answers := refused.answers()
	r.Inventory.NoteWaiting(nso.Namespace, answers)
	world, err := inventory.ReadProviders(ctx, r.Client, r.Counter, r.Inventory, nso)
	if errors.Is(err, inventory.ErrUnknown) {
		return retry.Done(refused.error()) // It is enqueued again once the pods are known.
	}
	if err != nil {
		return ctrl.Result{}, errors.Join(err, refused.error())
	}
	world.Waiting.Recreated = eviction.Summarise(slices.Collect(maps.Keys(answers)), answers)
	snapshot := namespaceoffloading.Observe(nso, world, r.Settings, r.Clock.Now())
	removable, again := namespaceoffloading.Removable(snapshot)
	if !removable {
		result, err := retry.Done(refused.error())
		result.RequeueAfter = retry.Sooner(result.RequeueAfter, again)
		return result, err
	}
	if given := namespaceoffloading.GivenUp(snapshot); given != "" {
		r.Events.Eventf(nso, nil, corev1.EventTypeWarning, "LeftBehind", "Delete", "%s", conditions.Note("deletionTimeout has passed; "+given))
	}
	r.reportStranded(nso, stranded)
	controllerutil.RemoveFinalizer(nso, v1alpha1.FinalizerOffloading)
	return retry.Done(r.patch(ctx, nso, before))
}

func (r *Lifecycle) patch(ctx context.Context, nso, before *v1alpha1.NamespaceOffloading) error {
	if err := r.Client.Patch(ctx, nso, precondition.Locked(before)); err != nil {
		return fmt.Errorf("changing the finalizer of NamespaceOffloading %s/%s: %w", nso.Namespace, nso.Name, err)
	}
	return nil
}
