// Package eviction evicts pods from virtual nodes that they must leave. These are the pods of a ClusterBinding
// that is being drained, and of a namespace that is no longer offloaded. They are also the pods of a namespace
// whose changed selector no longer selects that provider.
//
// The manager evicts pods instead of deleting them, so the API server enforces PodDisruptionBudgets. There is
// one key per pod, and one request, after which the manager only waits for the pod. It retries a refused
// eviction a little later. Package inventory keeps the refusal for the reports about what a deletion waits for.
// ADR 15 says why this does not use kubectl's drain package.
package eviction

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/inventory"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespaceoffloadings;namespacemaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes;namespaces;pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// Request is a pod on the virtual node of a binding.
type Request = inventory.Request

// Reconciler evicts pods.
type Reconciler struct {
	Client     client.Client
	Kubernetes kubernetes.Interface
	Inventory  *inventory.Inventory
	// Tries remembers earlier attempts.
	Tries *Tries
	// Unhealthy names the pods that make a budget protect others.
	Unhealthy *Unhealthy
}

// Reconcile evicts one pod, if it must leave.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (ctrl.Result, error) {
	pod, err := r.Inventory.Pod(ctx, req.Binding, req.NamespacedName)
	switch {
	case errors.Is(err, inventory.ErrUnknown) || err == nil && pod == nil:
		r.Tries.Forget(req) // The binding is gone, or will enqueue all its pods. Or the pod is gone.
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("getting pod %s: %w", req.NamespacedName, err)
	}
	cause, err := r.cause(ctx, req.Binding, pod)
	if err != nil {
		return ctrl.Result{}, err
	}
	if cause == eviction.Stays {
		r.Tries.Forget(req)
		r.Inventory.NoteRefused(req.Binding, pod, "")
		return ctrl.Result{}, nil
	}
	if wait := r.Tries.Wait(req, pod.UID); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return r.evict(ctx, req, pod, cause)
}

// evict sends one request, with the pod's UID: another pod that has taken its name must not be evicted.
func (r *Reconciler) evict(ctx context.Context, req Request, pod *corev1.Pod, cause eviction.Cause) (ctrl.Result, error) {
	err := consumer.Evict(ctx, r.Kubernetes, pod, metav1.NewUIDPreconditions(string(pod.UID)))
	switch {
	case err == nil:
		// The controller's own logger is only for more verbose logging.
		ctrl.LoggerFrom(ctx).Info("evicted a pod", "pod", req.NamespacedName, "binding", req.Binding, "cause", cause)
		r.Inventory.NoteRefused(req.Binding, pod, "")
		return ctrl.Result{RequeueAfter: r.Tries.Succeeded(req, pod.UID)}, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// The pod is gone, or another pod has its name, or its namespace is being deleted: a watch will show
		// that. If the conflict had another cause, the next attempt will show it.
		return ctrl.Result{RequeueAfter: r.Tries.Refused(req, pod.UID)}, nil
	}
	answer := refusal(err)
	if answer == "" {
		return ctrl.Result{}, fmt.Errorf("evicting pod %s from cluster %s: %w", req.NamespacedName, req.Binding, err)
	}
	if held, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		if budget := eviction.BudgetOf(held.Message); budget != "" {
			answer += r.Unhealthy.Of(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: budget})
		}
	}
	r.Inventory.NoteRefused(req.Binding, pod, answer)
	return ctrl.Result{RequeueAfter: r.Tries.Refused(req, pod.UID)}, nil
}

// refusal returns what the API server says about the pod: a budget does not allow its eviction, or something
// else is wrong with it. It returns "" if the error is about something else, such as an overloaded API server.
func refusal(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return ""
	}
	status := answer.Status()
	if apierrors.IsTooManyRequests(err) && !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		return ""
	}
	message := status.Message
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				message += " " + cause.Message
			}
		}
	}
	return message
}

// cause says why a pod must leave the virtual node of a binding. It reads caches.
func (r *Reconciler) cause(ctx context.Context, name string, pod *corev1.Pod) (eviction.Cause, error) {
	if !eviction.MayBeEvicted(pod) {
		return eviction.Stays, nil
	}
	s := eviction.Snapshot{
		Pod: pod, Binding: &v1alpha1.ClusterBinding{}, Offloading: &v1alpha1.NamespaceOffloading{}, NamespaceMap: &v1alpha1.NamespaceMap{},
	}
	bound, err1 := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: name}, s.Binding)
	offloaded, err2 := consumer.Exists(ctx, r.Client, client.ObjectKey{Namespace: pod.Namespace, Name: v1alpha1.OffloadingName}, s.Offloading)
	mapped, err3 := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: name}, s.NamespaceMap)
	node := &corev1.Node{}
	virtual, err4 := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: pod.Spec.NodeName}, node)
	namespace := consumer.NamespaceMetadata()
	_, err5 := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: pod.Namespace}, namespace)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil || !bound {
		return eviction.Stays, err
	}
	if !offloaded {
		s.Offloading = nil
	}
	if !mapped {
		s.NamespaceMap = nil
	}
	s.Cordoned = !virtual || node.Spec.Unschedulable
	s.GroupEmpty = virtual && eviction.GroupGone(node)
	s.NamespaceTerminating = !namespace.DeletionTimestamp.IsZero()
	return eviction.Decide(s), nil
}
