// Package namespacelabel creates a NamespaceOffloading with the defaults for a Namespace with the opt-in label.
// It deletes that NamespaceOffloading when the label is removed.
package namespacelabel

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles Namespaces.
type Reconciler struct {
	Client client.Client
	Events events.EventRecorder
}

// Reasons of events.
const (
	// reasonCreated: the label has created a NamespaceOffloading, again if somebody had
	// deleted it.
	reasonCreated = "MadeByLabel"
	// reasonNotUnderstood: the label has a value that may be meant as true, but is not.
	reasonNotUnderstood = "LabelNotUnderstood"
)

// action is what the label asks for.
type action int

const (
	nothing action = iota
	create
	remove
)

// decide compares the label with the NamespaceOffloading; existing is nil if there is
// none. Only one that the label created is ever removed.
func decide(namespace metav1.Object, existing *v1alpha1.NamespaceOffloading) action {
	asked := wantsOffloading(namespace)
	switch {
	case namespace.GetDeletionTimestamp() != nil:
		return nothing // Everything in it is being deleted anyway.
	case asked && existing == nil:
		return create
	case !asked && existing != nil && existing.DeletionTimestamp.IsZero() &&
		existing.Labels[v1alpha1.LabelCreatedBy] == v1alpha1.CreatedByNamespaceLabel:
		return remove
	default:
		return nothing
	}
}

func wantsOffloading(namespace metav1.Object) bool {
	return namespace.GetLabels()[v1alpha1.LabelOffload] == v1alpha1.OffloadTrue
}

// misspelt reports whether the label asks for something unknown: its owner would wait
// in vain. An empty value, and false, ask for nothing.
func misspelt(namespace metav1.Object) bool {
	value := namespace.GetLabels()[v1alpha1.LabelOffload]
	return value != "" && value != "false" && !wantsOffloading(namespace)
}

// Reconcile reconciles the NamespaceOffloading of one Namespace.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	namespace := consumer.NamespaceMetadata()
	if err := r.Client.Get(ctx, req.NamespacedName, namespace); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	nso := &v1alpha1.NamespaceOffloading{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: req.Name, Name: v1alpha1.OffloadingName}, nso)
	if apierrors.IsNotFound(err) {
		nso = nil
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("getting the NamespaceOffloading of namespace %s: %w", req.Name, err)
	}
	if misspelt(namespace) && namespace.GetDeletionTimestamp() == nil {
		r.recordEvent(namespace, corev1.EventTypeWarning, reasonNotUnderstood, fmt.Sprintf("the label %s=%s does not offload the namespace: its value must be %s",
			v1alpha1.LabelOffload, namespace.GetLabels()[v1alpha1.LabelOffload], v1alpha1.OffloadTrue))
	}
	switch decide(namespace, nso) {
	case create:
		err = r.create(ctx, namespace)
	case remove:
		err = retry.IgnoreGone(r.Client.Delete(ctx, nso, precondition.Exactly(nso)))
	case nothing:
		err = nil
	}
	if err != nil {
		return retry.Done(fmt.Errorf("following label %s of namespace %s: %w", v1alpha1.LabelOffload, req.Name, err))
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) create(ctx context.Context, namespace metav1.Object) error {
	err := r.Client.Create(ctx, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace.GetName(),
		Name:      v1alpha1.OffloadingName,
		Labels:    map[string]string{v1alpha1.LabelCreatedBy: v1alpha1.CreatedByNamespaceLabel},
	}})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	if err == nil {
		r.recordEvent(namespace, corev1.EventTypeNormal, reasonCreated, fmt.Sprintf("created a NamespaceOffloading for the label %s=%s, and recreates it if it is deleted; "+
			"to end the offloading: kubectl label namespace %s %s-", v1alpha1.LabelOffload, v1alpha1.OffloadTrue, namespace.GetName(), v1alpha1.LabelOffload))
	}
	return err
}

// recordEvent records an event about the namespace, inside it, where its owners may read it.
func (r *Reconciler) recordEvent(namespace metav1.Object, kind, reason, note string) {
	about := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Namespace", Name: namespace.GetName(), Namespace: namespace.GetName(), UID: namespace.GetUID(),
	}
	r.Events.Eventf(about, nil, kind, reason, "FollowLabel", "%s", conditions.Note(note))
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("namespacelabel").
		For(&corev1.Namespace{}, builder.OnlyMetadata, builder.WithPredicates(labelChanges())).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.EnqueueRequestsFromMapFunc(
			func(_ context.Context, nso client.Object) []reconcile.Request {
				return []reconcile.Request{trigger.Named(nso.GetNamespace())}
			}), builder.WithPredicates(trigger.NotStatus())).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// labelChanges passes changes of the label, and new namespaces with it, including one
// that has replaced another of its name unobserved. Whether one lost its label
// unobserved shows in its NamespaceOffloading.
func labelChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return wantsOffloading(e.Object) || misspelt(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetLabels()[v1alpha1.LabelOffload] != e.ObjectNew.GetLabels()[v1alpha1.LabelOffload] || trigger.MadeAgain(e)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
