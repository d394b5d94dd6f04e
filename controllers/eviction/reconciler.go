// Package eviction has pods leave the virtual nodes that they may not stay on:
// those of a ClusterBinding that is being drained, those of a namespace that is
// not to be offloaded any more, and those of one that a changed selector does
// not offload to that provider any more.
//
// Pods are evicted, not deleted: PodDisruptionBudgets hold, because the API
// server keeps them. There is one key for each pod, and one request, after which
// the pod is only waited for; what was refused is tried again a little later, and
// kept in package inventory for those who report what a deletion waits for. ADR
// 15 says why this is no use of kubectl's drain package.
package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/inventory"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespaceoffloadings;namespacemaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes;namespaces;pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// requestTimeout bounds one eviction.
const requestTimeout = 10 * time.Second

// Request is a pod on the virtual node of a binding.
type Request = inventory.Request

// Reconciler evicts pods.
type Reconciler struct {
	Client     client.Client
	Kubernetes kubernetes.Interface
	Inventory  *inventory.Inventory
	// Tries remembers what was tried already.
	Tries *Tries
}

// Reconcile evicts one pod, if it has to leave.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (ctrl.Result, error) {
	pod, err := r.Inventory.Pod(ctx, req.Binding, req.NamespacedName)
	if errors.Is(err, inventory.ErrUnknown) {
		r.Tries.Forget(req) // The binding is gone, or will ask for all its pods.
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("getting pod %s: %w", req.NamespacedName, err)
	}
	if pod == nil {
		r.Tries.Forget(req)
		return ctrl.Result{}, nil
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

// evict makes one request. It tells the pod by its UID: a pod that has taken its
// name meanwhile has not to leave.
func (r *Reconciler) evict(ctx context.Context, req Request, pod *corev1.Pod, cause eviction.Cause) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// The client library would hold a worker for as long as the API server says
	// that one should wait, up to ten times, and lose the reason.
	err := r.Kubernetes.CoreV1().RESTClient().Post().MaxRetries(0).
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		Body(&policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
		}).Do(ctx).Error()
	switch {
	case err == nil:
		// The logger of a controller is one for those who want to know more than usual.
		ctrl.LoggerFrom(ctx).Info("evicted a pod", "pod", req.NamespacedName, "binding", req.Binding, "cause", cause)
		r.Inventory.NoteRefused(req.Binding, pod, "")
		return ctrl.Result{RequeueAfter: r.Tries.Succeeded(req, pod.UID)}, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// It is gone, or another one, or its namespace goes: a watch will tell. If
		// it does not, because the conflict was about something else, it is the
		// next try that tells.
		return ctrl.Result{RequeueAfter: r.Tries.Refused(req, pod.UID)}, nil
	}
	answer := refusal(err)
	if answer == "" {
		return ctrl.Result{}, fmt.Errorf("evicting pod %s from cluster %s: %w", req.NamespacedName, req.Binding, err)
	}
	r.Inventory.NoteRefused(req.Binding, pod, answer)
	return ctrl.Result{RequeueAfter: r.Tries.Refused(req, pod.UID)}, nil
}

// refusal is what the API server says about the pod: that a budget does not
// allow it to go, or that something else is wrong with it. "" if it is about
// something else, such as an API server that is overloaded.
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

// cause is why a pod has to leave the virtual node of a binding, out of caches.
func (r *Reconciler) cause(ctx context.Context, name string, pod *corev1.Pod) (eviction.Cause, error) {
	s := eviction.Snapshot{
		Pod: pod, Binding: &v1alpha1.ClusterBinding{}, Offloading: &v1alpha1.NamespaceOffloading{}, NamespaceMap: &v1alpha1.NamespaceMap{},
	}
	// What is only looked at need not be copied: a map may have thousands of entries.
	get := func(key client.ObjectKey, obj client.Object) (bool, error) {
		err := r.Client.Get(ctx, key, obj, client.UnsafeDisableDeepCopy)
		return err == nil, client.IgnoreNotFound(err)
	}
	bound, err1 := get(client.ObjectKey{Name: name}, s.Binding)
	offloaded, err2 := get(client.ObjectKey{Namespace: pod.Namespace, Name: v1alpha1.OffloadingName}, s.Offloading)
	mapped, err3 := get(client.ObjectKey{Name: name}, s.NamespaceMap)
	node := &corev1.Node{}
	virtual, err4 := get(client.ObjectKey{Name: pod.Spec.NodeName}, node)
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	_, err5 := get(client.ObjectKey{Name: pod.Namespace}, namespace)
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
	s.NamespaceTerminating = !namespace.DeletionTimestamp.IsZero()
	return eviction.Decide(s), nil
}
