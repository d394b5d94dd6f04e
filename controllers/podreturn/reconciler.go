// Package podreturn moves pods back to earlier tiers of spec.overflow, if spec.return asks for it.
//
// It evicts one pod at a time, and the pod's ReplicaSet creates another, which starts in an earlier tier. Evictions
// hold to PodDisruptionBudgets. The decision is in internal/decide/spill. What was free is only in memory: a manager
// that starts observes for as long as spec.return says, before it evicts anything.
//
// An eviction comes before the write of status.lastReturn. If the manager ends between them, the return is not
// counted. The next manager first observes the room for a minute at least, so the pace holds.
package podreturn

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/consumer/localroom"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings;clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes;pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler moves the pods of one namespace.
type Reconciler struct {
	Client     client.Client
	Kubernetes kubernetes.Interface
	Inventory  *inventory.Inventory
	// Largest returns what the largest pod could request in a provider that had nothing else to run, and whether
	// the provider is connected.
	Largest func(ctx context.Context, binding string, group field.Group) (largest spill.Size, connected bool)
	// Exists returns what the nodes of a group have together now. It is asked only about providers that can grow, whose
	// virtual nodes show more.
	Exists func(ctx context.Context, binding string, group field.Group) spill.Size
	// Local knows what is free on the consumer's own nodes, while a namespace with a local tier needs it.
	Local *localroom.Rooms
	// Shared reports that replicas share the bindings.
	Shared bool
	Events events.EventRecorder
	Clock  clock.PassiveClock

	written  ownwrites.Versions
	known    memories
	used     usage
	promised promises
}

// Reconcile evicts one pod, or says why none can return.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nso := &v1alpha1.NamespaceOffloading{}
	if err := r.Client.Get(ctx, req.NamespacedName, nso); err != nil {
		r.forget(req.Namespace)
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !nso.DeletionTimestamp.IsZero() || len(nso.Finalizers) == 0 {
		r.forget(req.Namespace)
		return ctrl.Result{}, nil // Not started yet: the finalizer triggers the next reconcile.
	}
	if r.written.IsStale(nso) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	status := nso.Status.DeepCopy()
	if nso.Spec.Return == nil {
		r.forget(req.Namespace)
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.OffloadingReturns)
		status.LastReturn = nil
		return retry.Done(r.report(ctx, nso, status))
	}
	memory := r.known.get(nso, r.Clock.Now())
	snapshot, err := r.observe(ctx, nso, memory)
	if errors.Is(err, inventory.ErrUnknown) || errors.Is(err, errNodesUnknown) {
		c, again := memory.blind(err, r.Clock.Now())
		return r.finish(ctx, nso, status, c, again, memory) // It is enqueued again once more is known.
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	p := decide(snapshot, memory)
	if memory.last.Settled || memory.last.Failed {
		r.promised.end(req.Namespace)
	}
	if p.move.Pod >= 0 {
		if p.condition, p.again, err = r.evict(ctx, snapshot, p, memory); err != nil {
			return ctrl.Result{}, err
		}
	}
	memory.into(status)
	return r.finish(ctx, nso, status, p.condition, p.again, memory)
}

// finish writes a condition with the rest of a status, and comes back after again at the latest.
func (r *Reconciler) finish(
	ctx context.Context, nso *v1alpha1.NamespaceOffloading, status *v1alpha1.NamespaceOffloadingStatus, c condition, again time.Duration, memory *memory,
) (ctrl.Result, error) {
	again = retry.Sooner(again, c.into(status, nso.Generation, memory, r.Clock.Now()))
	result, err := retry.Done(r.report(ctx, nso, status))
	result.RequeueAfter = retry.Sooner(result.RequeueAfter, again)
	return result, err
}

func (r *Reconciler) forget(namespace string) {
	r.known.forget(namespace)
	r.promised.end(namespace)
	r.Local.Need(namespace, false)
}

// evict sends one request, with the pod's UID: another pod that has taken its name must not be evicted.
func (r *Reconciler) evict(ctx context.Context, s Snapshot, p plan, memory *memory) (condition, time.Duration, error) {
	pod, policy := s.Pods[p.move.Pod], s.Offloading.Spec.Return
	key := client.ObjectKeyFromObject(pod.Pod)
	err := consumer.Evict(ctx, r.Kubernetes, pod.Pod, metav1.NewUIDPreconditions(string(pod.UID)))
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("evicted a pod that returns", "pod", key, "from", pod.Tier, "to", p.move.To)
		r.Events.Eventf(pod.Pod, nil, corev1.EventTypeNormal, v1alpha1.ReasonReturning, "Evict", "%s", conditions.Note(fmt.Sprintf(
			"tier %d of spec.overflow has had room for the pod for %s: it is evicted from tier %d, so that its ReplicaSet starts another one in an earlier tier",
			p.move.To, memory.last.Patience(after(policy)), pod.Tier)))
		memory.returned(memory.last.Next(pod.Tier, pod.Name, ownerOf(pod.Pod), s.Now))
		r.promised.keep(p.place, pod)
		return p.condition, leastPause, nil
	}
	answer := ""
	var said apierrors.APIStatus
	switch held, protected := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return condition{hold: true}, leastPause, nil // A watch shows that soon.
	case protected:
		answer = "PodDisruptionBudget " + eviction.BudgetOf(held.Message) + ": " + held.Message
	case errors.As(err, &said) && retry.SaysWhy(err):
		answer = said.Status().Message
	default:
		memory.unsure, memory.asked, memory.next = &pod, s.Now, s.Now.Add(settle) // The API server may have done it.
		return condition{}, 0, fmt.Errorf("evicting pod %s, which could return: %w", key, err)
	}
	pause := memory.refuse(pod.UID, answer, perMinute(policy), s.Now)
	return condition{reason: v1alpha1.ReasonEvictionsRefused, message: memory.answers()}, pause, nil
}

// into writes the condition into a status. A message that differs only in numbers is no reason for a write, and a
// reason why nothing moves replaces another one at most once in a while: then it returns when.
func (c condition) into(status *v1alpha1.NamespaceOffloadingStatus, generation int64, memory *memory, now time.Time) (again time.Duration) {
	before := meta.FindStatusCondition(status.Conditions, v1alpha1.OffloadingReturns)
	if c.reason == "" {
		return 0
	}
	if before != nil && before.ObservedGeneration == generation {
		if c.hold || before.Reason == c.reason && retry.SameError(before.Message, c.message) {
			return 0
		}
		if wait := memory.told.Add(settle).Sub(now); wait > 0 && before.Status == c.status() && before.Reason != c.reason {
			return wait
		}
	}
	if before == nil || before.Reason != c.reason {
		memory.told = now
	}
	conditions.Set(&status.Conditions, generation, conditions.New(v1alpha1.OffloadingReturns, c.status(), c.reason, c.message))
	return 0
}

// report writes the status, if it differs.
func (r *Reconciler) report(ctx context.Context, nso *v1alpha1.NamespaceOffloading, status *v1alpha1.NamespaceOffloadingStatus) error {
	if equality.Semantic.DeepEqual(nso.Status, *status) {
		return nil
	}
	before := nso.DeepCopy()
	nso.Status = *status
	if err := r.Client.Status().Patch(ctx, nso, precondition.Locked(before)); err != nil {
		return fmt.Errorf("writing the condition %s of NamespaceOffloading %s/%s: %w", v1alpha1.OffloadingReturns, nso.Namespace, nso.Name, err)
	}
	r.written.Expect(nso)
	return nil
}
