package podadmission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Unscheduled does what can still be done for pods that wait for a node. It adds tolerations to those that are
// older than the offloading of their namespace. It does the same for those that name PersistentVolumeClaims, once
// these are bound, and for those that fit in no open tier of spec.overflow.
type Unscheduled struct {
	Client client.Client
	// SharedCache has the metadata of all claims, and Live bypasses the caches.
	SharedCache cache.Cache
	Live        client.Reader
	// Provides reports whether providers create volumes; see engine.Engine.
	Provides bool
	Settings namespaceoffloading.Settings
	Events   events.EventRecorder
	Clock    clock.PassiveClock

	told told
}

// Reconcile adds the missing tolerations to one pod, and releases its claims.
func (r *Unscheduled) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod, nso := &corev1.Pod{}, &v1alpha1.NamespaceOffloading{}
	if err := r.Client.Get(ctx, req.NamespacedName, pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	offloaded, err := consumer.Exists(ctx, r.Client, client.ObjectKey{Namespace: req.Namespace, Name: v1alpha1.OffloadingName}, nso)
	if err != nil || !offloaded && len(needs.Claims(pod)) == 0 {
		return ctrl.Result{}, err
	}
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	var selected []string
	if offloaded {
		selected = r.selected(nso, bindings)
	}
	claims, err := r.claims(ctx, pod, bindings, len(admission.Missing(pod, selected)) > 0)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.release(ctx, pod, claims); err != nil || !offloaded {
		return retry.Done(err)
	}
	return r.prepare(ctx, pod, r.plan(pod, nso, bindings, selected, claims))
}

// plan decides about a pod of an offloaded namespace. If nothing is selected, the namespace may be one that is never
// offloaded.
func (r *Unscheduled) plan(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, bindings placement.Index, selected []string, claims []unscheduledpod.Claim) unscheduledpod.Plan {
	now := r.Clock.Now()
	if len(nso.Spec.Overflow) == 0 || len(selected) == 0 {
		return unscheduledpod.Decide(pod, nso, selected, claims, now)
	}
	tiers, _ := namespaceoffloading.Tiers(nso, bindings)
	tiers = unscheduledpod.Able(tiers, claims)
	full, size := spill.Read(nso), spill.SizeOf(pod)
	usable, reopens := full.Usable(tiers, nso.Namespace, size, now)
	next := spill.Next(usable, unscheduledpod.Waiting(pod), now)
	plan := unscheduledpod.Decide(pod, nso, spill.Open(usable, next.Tier), claims, now)
	plan = unscheduledpod.Ordered(plan, pod, tiers, next, now)
	plan.RecheckAfter = retry.Sooner(plan.RecheckAfter, reopens)
	if next.FitsNone || next.Opens {
		plan = unscheduledpod.LeftOut(plan, full.Says(nso.Namespace, spill.Open(tiers, len(tiers)), size, now))
	}
	return plan
}

// prepare adds what is planned, and informs the owner of the pod.
func (r *Unscheduled) prepare(ctx context.Context, pod *corev1.Pod, plan unscheduledpod.Plan) (ctrl.Result, error) {
	if len(plan.Tolerations) > 0 {
		before := pod.DeepCopy()
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, plan.Tolerations...)
		if plan.Opened != "" {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationOverflow, plan.Opened)
		}
		if err := r.Client.Patch(ctx, pod, precondition.Locked(before)); err != nil {
			return retry.Done(fmt.Errorf("adding tolerations to pod %s: %w", client.ObjectKeyFromObject(before), err))
		}
	}
	if plan.Message != "" {
		if err := r.tell(ctx, pod, plan); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}

// tell informs the owner of the pod, unless an event has said the same. With tolerations, it is news.
func (r *Unscheduled) tell(ctx context.Context, pod *corev1.Pod, plan unscheduledpod.Plan) error {
	note := conditions.Note(plan.Message)
	if len(plan.Tolerations) == 0 && !r.told.knows(pod.Namespace, plan.Reason) {
		said, err := saidIn(ctx, r.Live, pod.Namespace, plan.Reason)
		if err != nil {
			return err
		}
		var waiting corev1.PodList
		if err := r.Client.List(ctx, &waiting, client.InNamespace(pod.Namespace)); err != nil {
			return fmt.Errorf("listing the pods of namespace %s that wait for a node: %w", pod.Namespace, err)
		}
		r.told.begin(pod.Namespace, plan.Reason, said, waiting.Items)
	}
	if !r.told.isNews(pod.Namespace, plan.Reason, pod.UID, note) && len(plan.Tolerations) == 0 {
		return nil
	}
	kind := corev1.EventTypeNormal
	if plan.Warns {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(pod, nil, kind, plan.Reason, "AddTolerations", "%s", conditions.Note(plan.Message))
	return nil
}

// selected returns the clusterIDs of the providers that the offloading selects.
func (r *Unscheduled) selected(nso *v1alpha1.NamespaceOffloading, bindings placement.Index) []string {
	var ids []string
	for _, binding := range bindings.Usable() {
		if _, wanted := namespaceoffloading.Wanted(nso, binding, false, false, r.Settings); wanted && binding.DeletionTimestamp.IsZero() && namespaceoffloading.TakenBy(nso, binding, bindings) == "" {
			ids = append(ids, binding.Spec.ClusterID)
		}
	}
	return ids
}

// SetupWithManager adds the controller to the manager, whose cache holds only
// pods that are not bound to a node.
func (r *Unscheduled) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("unscheduledpod").
		For(&corev1.Pod{}, builder.WithPredicates(predicate.Funcs{DeleteFunc: func(gone event.DeleteEvent) bool {
			r.told.leaves(gone.Object.GetNamespace(), gone.Object.GetUID())
			return false
		}})).
		WatchesRawSource(r.claimChanges()).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.EnqueueRequestsFromMapFunc(r.podsOf), builder.WithPredicates(predicate.Or(trigger.NotStatus(), reopened()))).
		Watches(&v1alpha1.ClusterBinding{}, handler.EnqueueRequestsFromMapFunc(r.allPods), builder.WithPredicates(trigger.NotStatus())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// reopened passes changes of which providers are full.
func reopened() predicate.Predicate {
	return trigger.OnlyUpdated(func(before, after *v1alpha1.NamespaceOffloading) bool {
		return !equality.Semantic.DeepEqual(before.Status.Full, after.Status.Full)
	})
}

func (r *Unscheduled) podsOf(ctx context.Context, nso client.Object) []reconcile.Request {
	if !nso.GetDeletionTimestamp().IsZero() {
		r.told.forget(nso.GetNamespace())
	}
	return r.pods(ctx, client.InNamespace(nso.GetNamespace()))
}

// allPods are reconciled when a provider is added or changes its labels: few pods wait
// for a node.
func (r *Unscheduled) allPods(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.pods(ctx)
}

// pods enqueues those in the cache. It cannot use trigger.Matching, which reads the cache's own
// objects: only their copies are Pods (internal/manager, waitingPod). A cache that cannot be read is
// stopping.
func (r *Unscheduled) pods(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, options...); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, len(pods.Items))
	for i := range pods.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&pods.Items[i])
	}
	return requests
}
