// Package importedcapacity makes the consumer's scheduler ask whether a provider has room for a volume, if a
// ClusterBinding says so (spec.import.csi).
//
// # How it works
//
// The scheduler asks for the room if the CSIDriver of a StorageClass's provisioner says so. For the StorageClasses that
// providers serve, that is csi.spillway.io, which is installed with Spillway. Then a CSIStorageCapacity of that class
// must have enough room for the claim, and match the node. So this controller sets storageCapacity of that CSIDriver,
// and creates a CSIStorageCapacity for each StorageClass that any binding maps, with the label of the virtual node as
// topology. The status of a binding has what its provider says. A provider that reports nothing has enough room.
//
// decide.go decides, without any I/O, which of them there are.
//
// # What it trades away
//
// It does not watch what it has written. What somebody deletes or changes is corrected with the next change of a
// binding's classes, or by the next manager. Until then, the scheduler does not ask. To install Spillway again changes
// nothing: the shipped CSIDriver does not say whether the scheduler asks.
package importedcapacity

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=csidrivers,resourceNames=csi.spillway.io,verbs=get;patch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=csistoragecapacities,verbs=list;create;patch;delete,namespace=spillway-system
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// reasonDriverMissing: the CSIDriver that is installed with Spillway is not there.
const reasonDriverMissing = "DriverMissing"

// Reconciler reconciles the driver and all capacities.
type Reconciler struct {
	Client client.Client
	// Live reads without a cache: the objects are few, and only this controller writes them.
	Live   client.Reader
	Events events.EventRecorder
	// Namespace has the capacities.
	Namespace string

	reported sync.Map // Has the UID of each binding that has got the event.
	// empty reports that no binding imports the room, and nothing is left of it. One worker uses it.
	empty bool
}

// request is for all of them.
type request struct{}

// Reconcile reconciles the driver and all capacities.
func (r *Reconciler) Reconcile(ctx context.Context, _ request) (ctrl.Result, error) {
	s := snapshot{namespace: r.Namespace}
	var bindings v1alpha1.ClusterBindingList
	if err := r.Client.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	s.bindings = bindings.Items
	if r.empty && !imports(s.bindings) {
		return ctrl.Result{}, nil
	}
	if err := r.observe(ctx, &s); err != nil {
		return ctrl.Result{}, err
	}
	p := decide(s)
	for _, binding := range p.lacking {
		r.tell(binding)
	}
	if err := r.act(ctx, s, p); err != nil {
		r.empty = false
		return retry.Done(err)
	}
	r.empty = !imports(s.bindings)
	if p.again {
		return ctrl.Result{RequeueAfter: retry.ConflictRetry}, nil
	}
	return ctrl.Result{}, nil
}

func imports(bindings []v1alpha1.ClusterBinding) bool {
	for i := range bindings {
		if bindings[i].Spec.Import.CSI {
			return true
		}
	}
	return false
}

// observe reads the driver and the capacities.
func (r *Reconciler) observe(ctx context.Context, s *snapshot) error {
	found := &storagev1.CSIDriver{}
	switch err := r.Live.Get(ctx, client.ObjectKey{Name: v1alpha1.StorageDriver}, found); {
	case err == nil:
		s.driver = found
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("getting CSIDriver %s: %w", v1alpha1.StorageDriver, err)
	}
	var capacities storagev1.CSIStorageCapacityList
	if err := r.Live.List(ctx, &capacities, client.InNamespace(r.Namespace), client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}); err != nil {
		return fmt.Errorf("listing CSIStorageCapacities: %w", err)
	}
	s.found = capacities.Items
	return nil
}

// act carries out a plan, in order.
func (r *Reconciler) act(ctx context.Context, s snapshot, p plan) error {
	if err := r.change(ctx, s.driver, p.silence); err != nil {
		return err
	}
	for _, capacity := range p.create {
		if err := r.Client.Create(ctx, capacity); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating CSIStorageCapacity %s: %w", capacity.Name, err)
		}
	}
	for _, changed := range p.change {
		if err := r.Client.Patch(ctx, changed.after, precondition.Locked(changed.before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("changing CSIStorageCapacity %s: %w", changed.before.Name, err)
		}
	}
	if err := r.change(ctx, s.driver, p.ask); err != nil {
		return err
	}
	for _, capacity := range p.delete {
		if err := retry.IgnoreGone(r.Client.Delete(ctx, capacity, precondition.Exactly(capacity))); err != nil {
			return fmt.Errorf("deleting CSIStorageCapacity %s: %w", capacity.Name, err)
		}
	}
	return nil
}

// change changes the driver, if after is not nil.
func (r *Reconciler) change(ctx context.Context, before, after *storagev1.CSIDriver) error {
	if after == nil {
		return nil
	}
	if err := r.Client.Patch(ctx, after, precondition.Locked(before)); err != nil {
		return fmt.Errorf("changing CSIDriver %s: %w", before.Name, err)
	}
	return nil
}

// tell creates an event, once, on a binding whose driver is not there.
func (r *Reconciler) tell(binding *v1alpha1.ClusterBinding) {
	type telling struct{ binding types.UID }
	if _, before := r.reported.LoadOrStore(telling{binding.UID}, true); !before {
		r.Events.Eventf(binding, nil, corev1.EventTypeWarning, reasonDriverMissing, "Import", "%s", conditions.Note(
			"CSIDriver "+v1alpha1.StorageDriver+" is missing, so the scheduler does not ask for the room in providers: apply dist/install.yaml again"))
	}
}
