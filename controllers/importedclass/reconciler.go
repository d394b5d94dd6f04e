// Package importedclass creates, in the consumer, the classes that ClusterBindings import from their providers.
// It deletes a class when no binding imports it any more. The status of a binding has what its provider says
// about classes: this controller runs in the elected replica, and asks no provider.
//
// decide.go decides, without any I/O, which classes the consumer has.
package importedclass

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingressclasses,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=node.k8s.io,resources=runtimeclasses,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=scheduling.k8s.io,resources=priorityclasses,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses;volumeattributesclasses,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// fewReplaced are the times that a class is replaced at once, and then once each replaceInterval.
	fewReplaced     = 3
	replaceInterval = time.Minute
)

// reasonClassTaken: a class that the binding imports is somebody else's here, and is left alone.
const reasonClassTaken = "ClassTaken"

// Request is for a class of the consumer.
type Request struct {
	Kind v1alpha1.ClassKind
	Name string
}

// fresh makes an empty object of each kind that can be imported.
var fresh = map[v1alpha1.ClassKind]func() client.Object{
	v1alpha1.ClassIngress:          func() client.Object { return &networkingv1.IngressClass{} },
	v1alpha1.ClassRuntime:          func() client.Object { return &nodev1.RuntimeClass{} },
	v1alpha1.ClassPriority:         func() client.Object { return &schedulingv1.PriorityClass{} },
	v1alpha1.ClassStorage:          func() client.Object { return &storagev1.StorageClass{} },
	v1alpha1.ClassVolumeAttributes: func() client.Object { return &storagev1.VolumeAttributesClass{} },
}

// Reconciler reconciles the classes of the consumer.
type Reconciler struct {
	Client client.Client
	Events events.EventRecorder
	Clock  clock.PassiveClock

	replaced *throttle.Allowance[Request] // How often a class is replaced: its provider may say something else all the time.
	reported sync.Map                     // Has each telling of which there was an event: one is enough.
}

// telling is a class that is somebody else's, as reported on a binding.
type telling struct {
	binding, class types.UID
}

// Reconcile reconciles one class.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (ctrl.Result, error) {
	object := fresh[req.Kind]()
	var found decide.Object
	switch err := r.Client.Get(ctx, client.ObjectKey{Name: req.Name}, object); {
	case err == nil:
		found = object
	case !apierrors.IsNotFound(err):
		return ctrl.Result{}, fmt.Errorf("getting %s %s: %w", req.Kind, req.Name, err)
	}
	var bindings v1alpha1.ClusterBindingList
	if err := r.Client.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	plan := Decide(req.Kind, req.Name, bindings.Items, found)
	for _, binding := range plan.Taken {
		if _, before := r.reported.LoadOrStore(telling{binding.UID, found.GetUID()}, true); !before {
			r.Events.Eventf(binding, nil, corev1.EventTypeWarning, reasonClassTaken, "Import", "%s", conditions.Note(fmt.Sprintf(
				"%s %s is not imported: it exists, and Spillway did not create it; delete it, or import under another name", req.Kind, req.Name)))
		}
	}
	switch {
	case plan.Create != nil:
		if err := r.Client.Create(ctx, plan.Create); err != nil && !apierrors.IsAlreadyExists(err) { // The watch shows that one in a moment.
			return retry.Done(fmt.Errorf("creating %s %s: %w", req.Kind, req.Name, err))
		}
	case plan.Replaces && r.replaced.Wait(req) > 0:
		return ctrl.Result{RequeueAfter: r.replaced.Wait(req)}, nil
	case plan.Delete != nil:
		if err := retry.IgnoreGone(r.Client.Delete(ctx, plan.Delete, precondition.Exactly(plan.Delete))); err != nil {
			return retry.Done(fmt.Errorf("deleting %s %s: %w", req.Kind, req.Name, err))
		}
		if plan.Replaces {
			r.replaced.Wrote(req)
		} else {
			r.replaced.Forget(req)
		}
	}
	return ctrl.Result{}, nil
}
