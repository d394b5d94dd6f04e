package namespaceoffloading

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// refusals say why pods that wait for a node cannot be evicted.
type refusals map[types.NamespacedName]error

// release evicts the pods that wait for a node and that their controllers recreate. It returns as stranded the
// pods that nobody recreates and that wait for ever. The cache has only pods without a node. Pods that cannot
// be evicted are in refused, and also in stranded if the deletion continues without them.
//
// The manager evicts instead of deleting: Kubernetes then says why in their status, which the podFailurePolicy
// of a Job can test. No budget counts a pod that does not run.
func (r *Lifecycle) release(ctx context.Context, nso *v1alpha1.NamespaceOffloading) (stranded []*corev1.Pod, refused refusals, err error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(nso.Namespace)); err != nil {
		return nil, nil, fmt.Errorf("listing the pods of namespace %s that wait for a node: %w", nso.Namespace, err)
	}
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return nil, nil, err
	}
	refused = refusals{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch unscheduledpod.FateOf(pod, nso, bindings) {
		case unscheduledpod.Recreated:
			err := r.evict(ctx, nso, pod)
			if err == nil {
				continue
			}
			refused[client.ObjectKeyFromObject(pod)] = err
			if unscheduledpod.Strands(pod, bindings) {
				stranded = append(stranded, pod)
			}
		case unscheduledpod.Stranded:
			stranded = append(stranded, pod)
		}
	}
	return stranded, refused, nil
}

// answers returns what to say about each pod. A conflict has a different text each time.
func (r refusals) answers() map[types.NamespacedName]string {
	answers := map[types.NamespacedName]string{}
	for pod, err := range r {
		if answers[pod] = err.Error(); apierrors.IsConflict(err) {
			answers[pod] = "somebody changed it at the same time"
		}
	}
	return answers
}

// error joins the refusals. It returns nil if there are none.
func (r refusals) error() error {
	var errs []error
	for pod, err := range r {
		errs = append(errs, fmt.Errorf("evicting pod %s, which waits for a virtual node: %w", pod, err))
	}
	return errors.Join(errs...)
}

// evict sends one request for the pod as it was read: a pod that has got a node since may run.
func (r *Lifecycle) evict(ctx context.Context, nso *v1alpha1.NamespaceOffloading, pod *corev1.Pod) error {
	err := consumer.Evict(ctx, r.Kubernetes, pod, &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info("evicted a pod that waited for a virtual node", "pod", client.ObjectKeyFromObject(pod))
	case retry.IsGone(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // It is gone, or Kubernetes deletes it with its namespace.
	case !apierrors.IsConflict(err):
		r.Events.Eventf(nso, pod, corev1.EventTypeWarning, v1alpha1.ReasonEvictionsRefused, "Evict", "%s", conditions.Note(
			"pod "+pod.Name+" waits for a virtual node, and cannot be evicted: "+err.Error()))
	}
	return err
}

// reportStranded informs the owners of pods that they wait for ever.
func (r *Lifecycle) reportStranded(nso *v1alpha1.NamespaceOffloading, stranded []*corev1.Pod) {
	for _, pod := range stranded {
		r.Events.Eventf(pod, nso, corev1.EventTypeWarning, v1alpha1.ReasonPodStranded, "Delete", "%s", conditions.Note(
			"namespace "+pod.Namespace+" is no longer offloaded. The pod can run only on virtual nodes, and its affinity is immutable: delete it, and create it again"))
	}
}
