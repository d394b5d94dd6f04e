// Package virtualnode maintains the Node and the Lease that represent each provider in the consumer.
//
// decide*.go decide, without any I/O, what the Node looks like. Others write to a Node too: Kubernetes adds its own
// taints and conditions, and users add labels. So Spillway only changes or removes what it has added. An annotation
// remembers what that is.
package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=nodes/status,verbs=patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=kube-node-lease

// Reconciler maintains the Node of each ClusterBinding. It changes one only while the
// provider is connected: a node whose provider is cut off becomes NotReady by
// Kubernetes' own rules, because its Lease is not renewed. But a missing node is
// recreated at once, whatever the state of the provider: Kubernetes deletes the pods of
// a node that has been gone for 40 seconds. If the binding is paused or being deleted,
// it only reports that the provider answers, and where the kubelet API of the node is.
type Reconciler struct {
	Client client.Client
	// Live bypasses the caches.
	Live  client.Reader
	Fleet *fleet.Fleet
	// Owner says which bindings this replica keeps the Nodes of.
	Owner shard.Owner
	Clock clock.PassiveClock
	// KeepsFeatures reports whether the consumer's API server knows the features that a
	// node declares. One that does not drops them, and each reconcile would write them
	// again.
	KeepsFeatures bool
	// Kubelet is where this replica serves the kubelet API of the nodes.
	Kubelet Endpoint
	// Pace limits the writes that follow the provider's nodes. Shrinking are those that need
	// not wait for it, because the provider offers less.
	Pace      *throttle.Pacer
	Shrinking *throttle.Allowance[string]
	// Leases are of the virtual nodes.
	Leases *Leases
	// Inventory knows the pods on them.
	Inventory *inventory.Inventory
	Events    events.EventRecorder
	// Small limits the writes of small changes of what other pods in a provider leave.
	Small *throttle.Allowance[string]
	// Told limits the writes of the condition Elastic that only change its numbers.
	Told *throttle.Allowance[string]

	written ownwrites.Versions
	known   sync.Map // The virtual nodes of bindings with groups, by the binding's UID: see members.Known.
}

// urgent reports whether the node must be written at once: the provider offers less than the node shows, and
// evicted pods must not come back. A few such writes are not delayed, whatever a provider does. A write that
// leaves nothing is never delayed: it cannot repeat before the node has grown.
func (r *Reconciler) urgent(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) bool {
	less, nothing := shrinks(node, binding, offer)
	if less && !nothing && r.Shrinking.Wait(binding.Name) == 0 {
		r.Shrinking.Wrote(binding.Name)
		return true
	}
	return nothing
}

// Reconcile reconciles the Node of one ClusterBinding.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	binding := &v1alpha1.ClusterBinding{}
	if err := r.Client.Get(ctx, req.NamespacedName, binding); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Owner.Owns(binding.Name) {
		return ctrl.Result{}, nil
	}
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	if bindings.Holder(binding.Spec.ClusterID) != binding.Name {
		return ctrl.Result{}, nil // Then there is no connection either, except perhaps for a moment.
	}
	offer, connected, err := r.offer(ctx, binding)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the nodes of provider %s: %w", binding.Spec.ClusterID, err)
	}
	offer.Older, offer.Kubelet = bindings.Older(binding), r.Kubelet
	offer.Exact = r.Small.Wait(binding.Name) == 0
	existing, err := consumer.VirtualNodes(ctx, r.Client, binding)
	if err != nil {
		return ctrl.Result{}, err
	}
	if connected && sharesMax(binding) {
		pods, err := r.Inventory.Pods(ctx, binding.Name, "")
		if offer.Unshared = errors.Is(err, inventory.ErrUnknown); err != nil && !offer.Unshared {
			return ctrl.Result{}, err
		}
		offer.Requested = requestedOn(existing, pods)
	}
	offer = offer.growing(binding)
	if isGrouped(binding, existing) {
		return r.reconcileGroups(ctx, binding, existing, offer, connected)
	}
	result, err := r.createOrUpdate(ctx, binding, offer, connected)
	if err != nil || !connected {
		return result, err
	}
	again, err := r.report(ctx, binding, nil, offer)
	after, err := retry.Done(err)
	after.RequeueAfter = retry.Sooner(retry.Sooner(after.RequeueAfter, result.RequeueAfter), again)
	return after, err
}

// createOrUpdate creates the Node, or updates it if the provider is connected.
func (r *Reconciler) createOrUpdate(ctx context.Context, binding *v1alpha1.ClusterBinding, offer Offer, connected bool) (ctrl.Result, error) {
	node := &corev1.Node{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: offer.nodeName(binding)}, node)
	switch {
	case apierrors.IsNotFound(err) && binding.DeletionTimestamp.IsZero() && (connected || binding.Status.RemoteClusterUID != ""):
		node = New(binding, offer)
		if err := r.Client.Create(ctx, node); err != nil {
			return retry.Done(fmt.Errorf("creating Node %s: %w", node.Name, err))
		}
	case err != nil:
		return ctrl.Result{}, client.IgnoreNotFound(err) // There was none, and engaging the provider enqueues it again; or it is being deleted.
	case !metav1.IsControlledBy(node, binding):
		return ctrl.Result{}, nil // The clusterbinding controller reports it.
	default:
		if r.written.IsStale(node) {
			return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
		}
		if wait := r.Pace.Wait(offer.pace(binding)); connected && wait > 0 && !r.urgent(node, binding, offer) {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	if !connected {
		return ctrl.Result{}, nil
	}
	return r.bringUpToDate(ctx, binding, node, offer)
}

// bringUpToDate writes what differs now, and comes back for small changes that wait.
func (r *Reconciler) bringUpToDate(ctx context.Context, binding *v1alpha1.ClusterBinding, node *corev1.Node, offer Offer) (ctrl.Result, error) {
	if err := r.update(ctx, binding, node, offer); err != nil {
		return retry.Done(err)
	}
	if lags(node, binding, offer) {
		return ctrl.Result{RequeueAfter: max(r.Small.Wait(binding.Name), time.Second)}, nil
	}
	return ctrl.Result{}, nil
}

// offer returns what the provider has, if it is connected. That is unknown if the manager may not read its
// nodes.
func (r *Reconciler) offer(ctx context.Context, binding *v1alpha1.ClusterBinding) (offer Offer, connected bool, err error) {
	provider, err := r.Fleet.Get(binding.Name)
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		return offer, false, nil
	}
	if err != nil {
		return offer, false, err
	}
	var list corev1.NodeList
	err = provider.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy)
	limits := provider.Limits.Now()
	offer.Tolerable, offer.VolumeTypes = limits.TolerationKeys, limits.VolumeTypes
	if limits.Unknown != nil {
		offer.Refuses = limits.Unknown.Reason
	}
	// Before they are listed: a right that is granted counts once the cache has them.
	offer.Unknown = provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != ""
	offer.Nodes = list.Items
	if binding.Spec.VirtualNode.ForeignPods.Subtracts() {
		offer.Foreign = provider.Foreign.Now()
		offer.Unread = offer.Foreign == nil
	}
	return offer, err == nil, err
}

// update writes what differs: metadata and spec, then the status.
func (r *Reconciler) update(ctx context.Context, binding *v1alpha1.ClusterBinding, node *corev1.Node, offer Offer) error {
	wrote := false
	defer func() {
		if wrote {
			r.Pace.Wrote(offer.pace(binding))
		}
	}()
	before := node.DeepCopy()
	apply(node, binding, offer)
	if !equality.Semantic.DeepEqual(before, node) {
		if err := r.Client.Patch(ctx, node, precondition.Locked(before)); err != nil {
			return fmt.Errorf("patching Node %s: %w", node.Name, err)
		}
		r.written.Expect(node)
		wrote = true
	}
	before = node.DeepCopy()
	applyStatus(node, binding, offer, metav1.NewTime(r.Clock.Now()))
	if !r.KeepsFeatures {
		node.Status.DeclaredFeatures = before.Status.DeclaredFeatures
	}
	if equality.Semantic.DeepEqual(before, node) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, node, precondition.Locked(before)); err != nil {
		return fmt.Errorf("patching the status of Node %s: %w", node.Name, err)
	}
	r.written.Expect(node)
	wrote = true
	if offer.Foreign != nil && offer.Exact {
		r.Small.Wrote(binding.Name)
	}
	return nil
}
