package podadmission

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Strayed reports pods of Remote namespaces that are on the consumer's own nodes. The webhook was not called when
// they were created: the manager was down, or could not be reached in time. It reconciles NamespaceOffloadings,
// one at a time.
//
// No cache has pods on such nodes. The manager lists them when a pod without the webhook's changes leaves the
// cache of pods that wait for a node. It also lists them once for each Remote namespace when it starts.
type Strayed struct {
	Client client.Client
	// Live bypasses the caches.
	Live   client.Reader
	Events events.EventRecorder

	// reported has the pods of each namespace that have an event.
	reported map[string]sets.Set[types.UID]
}

// Reconcile informs the owners of pods on local nodes, once.
func (r *Strayed) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nso := &v1alpha1.NamespaceOffloading{}
	err := r.Client.Get(ctx, req.NamespacedName, nso)
	if err != nil || !nso.DeletionTimestamp.IsZero() || nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote {
		delete(r.reported, req.Namespace)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	pods, err := r.onLocalNodes(ctx, req.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	there := sets.New[types.UID]()
	for i := range pods {
		message := unscheduledpod.LocalNodeWarning(&pods[i], nso)
		if message == "" {
			continue
		}
		told, err := r.reportedIn(ctx, req.Namespace)
		if err != nil {
			return ctrl.Result{}, err
		}
		there.Insert(pods[i].UID)
		if !told.Has(pods[i].UID) {
			r.Events.Eventf(&pods[i], nil, corev1.EventTypeWarning, unscheduledpod.ReasonOnLocalNode, "Report", "%s", conditions.Note(message))
			told.Insert(pods[i].UID)
		}
	}
	if told := r.reported[req.Namespace]; told != nil {
		r.reported[req.Namespace] = told.Intersection(there)
	}
	return ctrl.Result{}, nil
}

// onLocalNodes lists the pods on nodes that are not virtual.
func (r *Strayed) onLocalNodes(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var bindings v1alpha1.ClusterBindingList
	if err := r.Client.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	others := []fields.Selector{fields.OneTermNotEqualSelector("spec.nodeName", "")}
	for i := range bindings.Items {
		others = append(others, fields.OneTermNotEqualSelector("spec.nodeName", bindings.Items[i].VirtualNodeName()))
	}
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: fields.AndSelectors(others...)}); err != nil {
		return nil, fmt.Errorf("listing the pods of namespace %s on local nodes: %w", namespace, err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return slices.ContainsFunc(bindings.Items, func(b v1alpha1.ClusterBinding) bool {
			return v1alpha1.SameProvider(pod.Spec.NodeName, b.VirtualNodeName())
		})
	}), nil
}

// reportedIn returns the pods that have an event, from this manager or from an earlier one, as long as the API
// server keeps the event.
func (r *Strayed) reportedIn(ctx context.Context, namespace string) (sets.Set[types.UID], error) {
	if told := r.reported[namespace]; told != nil {
		return told, nil
	}
	said, err := saidIn(ctx, r.Live, namespace, unscheduledpod.ReasonOnLocalNode)
	if err != nil {
		return nil, err
	}
	told := sets.KeySet(said)
	if r.reported == nil {
		r.reported = map[string]sets.Set[types.UID]{}
	}
	r.reported[namespace] = told
	return told, nil
}

// SetupWithManager adds the controller to the manager. The manager's cache has only pods without a node, so a
// pod that gets a node is deleted from it.
func (r *Strayed) SetupWithManager(mgr ctrl.Manager) error {
	leaves := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("strayedpod").
		For(&v1alpha1.NamespaceOffloading{}, builder.WithPredicates(trigger.NotStatus())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod), builder.WithPredicates(leaves)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// ofPod enqueues the offloading of a pod that no longer waits for a node, if the pod lacks the webhook's
// changes. The cache holds less than a Pod, and a copy of it is a Pod.
func (r *Strayed) ofPod(ctx context.Context, obj client.Object) []reconcile.Request {
	pod, ok := obj.DeepCopyObject().(*corev1.Pod)
	if !ok {
		return nil
	}
	nso, key := &v1alpha1.NamespaceOffloading{}, client.ObjectKey{Namespace: pod.Namespace, Name: v1alpha1.OffloadingName}
	if err := r.Client.Get(ctx, key, nso, client.UnsafeDisableDeepCopy); err != nil || unscheduledpod.LocalNodeWarning(pod, nso) == "" {
		return nil // An unreadable offloading is gone, or the manager is stopping.
	}
	return []reconcile.Request{{NamespacedName: key}}
}
