// Package stuckpod deletes pods on virtual nodes for which their provider has no room, so that their controllers
// create others, which go elsewhere. Before that, it writes to the status of the NamespaceOffloading that the provider
// is full, which keeps the successors away for a while. It does so only in namespaces with spec.unschedulable.
//
// A pod that runs costs nothing here, unless its provider was full: then that is reported to be over. A pod that is
// given up costs one deletion, two requests to the provider, and a status write if the refusal is news.
package stuckpod

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/stuckpod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespaceoffloadings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespaceoffloadings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// askTimeout limits the request to a provider, and askAgain is when one that cannot be asked is asked again.
	askTimeout = 10 * time.Second
	askAgain   = 10 * time.Second
)

// Reconciler reconciles pods on virtual nodes.
type Reconciler struct {
	Client    client.Client
	Inventory *inventory.Inventory
	Fleet     *fleet.Fleet
	Events    events.EventRecorder
	Clock     clock.PassiveClock

	written ownwrites.Versions
	seen    seen
	// outdated is used once: the API server's definitions are older than status.full.
	outdated sync.Once
}

// Reconcile decides about one pod.
func (r *Reconciler) Reconcile(ctx context.Context, req inventory.Request) (ctrl.Result, error) {
	found, err := r.Inventory.Pod(ctx, req.Binding, req.NamespacedName)
	switch {
	case errors.Is(err, inventory.ErrUnknown) || err == nil && found == nil:
		r.seen.forget(req)
		return ctrl.Result{}, nil // Enqueued again when more is known.
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("getting pod %s: %w", req.NamespacedName, err)
	}
	s := stuckpod.Snapshot{Pod: found, Binding: &v1alpha1.ClusterBinding{}, Offloading: &v1alpha1.NamespaceOffloading{}, Now: r.Clock.Now()}
	s.Seen = s.Now
	if pod.StuckOf(found) != nil {
		s.Seen = r.seen.first(req, found.UID, s.Now)
	}
	bound, err1 := consumer.Exists(ctx, r.Client, client.ObjectKey{Name: req.Binding}, s.Binding)
	offloaded, err2 := consumer.Exists(ctx, r.Client, client.ObjectKey{Namespace: req.Namespace, Name: v1alpha1.OffloadingName}, s.Offloading)
	if err := errors.Join(err1, err2); err != nil {
		return ctrl.Result{}, err
	}
	if !bound || !offloaded {
		return ctrl.Result{}, nil
	}
	if s.Group, err = groupOf(ctx, r.Client, s); err != nil {
		return ctrl.Result{}, err
	}
	s.Early = r.seen.early(req, stuckpod.Early(s))
	if due, wait := stuckpod.Due(s); !due {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if r.written.IsStale(s.Offloading) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	if s.Nodes, err = r.nodes(ctx); err != nil {
		return ctrl.Result{}, err
	}
	return r.act(ctx, req, s, stuckpod.Decide(s))
}

// groupOf returns the group of the pod's virtual node, if its provider can grow.
func groupOf(ctx context.Context, from client.Reader, s stuckpod.Snapshot) (field.Group, error) {
	node := &corev1.Node{}
	if s.Binding.Spec.VirtualNode.Elastic == nil || s.Pod.Spec.NodeName == "" {
		return nil, nil
	}
	if exists, err := consumer.Exists(ctx, from, client.ObjectKey{Name: s.Pod.Spec.NodeName}, node); !exists || err != nil {
		return nil, err
	}
	group, _ := field.ParseGroup(node.Annotations[v1alpha1.AnnotationGroup])
	return group, nil
}

// nodes returns the virtual nodes of the providers that answer.
func (r *Reconciler) nodes(ctx context.Context) (map[string][]*corev1.Node, error) {
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return nil, err
	}
	nodes := map[string][]*corev1.Node{}
	for _, binding := range bindings.Usable() {
		if !namespaceoffloading.Answers(binding) {
			continue
		}
		if nodes[binding.Spec.ClusterID], err = consumer.VirtualNodes(ctx, r.Client, binding); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// act writes the status first, and deletes the pod once the cache shows that. By then, admission mostly knows it, too,
// and the successor does not go to the same provider. The objects are the caches'.
func (r *Reconciler) act(ctx context.Context, req inventory.Request, s stuckpod.Snapshot, plan stuckpod.Plan) (ctrl.Result, error) {
	if plan.Delete {
		if confirmed, err := r.confirmed(ctx, s); !confirmed || err != nil {
			return ctrl.Result{RequeueAfter: askAgain}, err
		}
	}
	if plan.Status != nil {
		kept, err := r.write(ctx, s.Offloading, *plan.Status)
		if err != nil || !kept {
			return retry.Done(err)
		}
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	if plan.Delete {
		// What has changed about the pod since may be that it has started.
		as := client.Preconditions{UID: &s.Pod.UID, ResourceVersion: &s.Pod.ResourceVersion}
		if err := r.Client.Delete(ctx, s.Pod.DeepCopy(), as); err != nil {
			return retry.Done(retry.IgnoreGone(fmt.Errorf("deleting pod %s: %w", req.NamespacedName, err)))
		}
	}
	if plan.Reason != "" && r.seen.tell(req, plan.Reason) {
		r.Events.Eventf(s.Pod, nil, corev1.EventTypeWarning, plan.Reason, "Replace", "%s", conditions.Note(plan.Message))
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}

// confirmed asks the provider whether it still does not run the pod. What the consumer knows may be older than an outage
// of the manager. Without an answer, the pod stays.
func (r *Reconciler) confirmed(ctx context.Context, s stuckpod.Snapshot) (bool, error) {
	provider, err := r.Fleet.Get(s.Binding.Name)
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		return false, nil
	}
	key := stuckpod.Remote(s.Pod, s.Offloading, s.Binding.Spec.ClusterID)
	if err != nil || key.Namespace == "" {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	remote := &corev1.Pod{}
	err = provider.GetAPIReader().Get(ctx, key, remote)
	switch {
	case apierrors.IsNotFound(err):
		remote = nil
	case err != nil:
		return false, fmt.Errorf("getting pod %s in provider %s: %w", key, s.Binding.Spec.ClusterID, err)
	}
	return stuckpod.Confirmed(s.Pod, remote), nil
}

// write writes the status, and reports whether the API server has kept it. One with older definitions drops what it does
// not know. Then no pod is given up, because the successor would come back at once.
func (r *Reconciler) write(ctx context.Context, nso *v1alpha1.NamespaceOffloading, status v1alpha1.NamespaceOffloadingStatus) (kept bool, err error) {
	after := nso.DeepCopy()
	after.Status = status
	if err := r.Client.Status().Patch(ctx, after, precondition.Locked(nso)); err != nil {
		return false, fmt.Errorf("writing the status of NamespaceOffloading %s/%s: %w", nso.Namespace, nso.Name, err)
	}
	r.written.Expect(after)
	if len(status.Full) > 0 && len(after.Status.Full) == 0 {
		r.outdated.Do(func() {
			ctrl.LoggerFrom(ctx).Info("no pod is given up: the definition of NamespaceOffloadings is older than this manager, and has no status.full")
		})
		return false, nil
	}
	return true, nil
}
