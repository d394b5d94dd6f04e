package clusterbinding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups="",resources=configmaps;secrets;persistentvolumeclaims;persistentvolumes,verbs=get;list;watch;patch

const (
	// parallel is how many objects are released at a time.
	parallel = 10
	// released is how long caches need at most to show that objects are released.
	released = 200 * time.Millisecond
	// sharedCacheTimeout limits the wait for the shared cache, which is never longer than
	// filling it once.
	sharedCacheTimeout = 10 * time.Second
)

// observeResidents keeps open the view of a binding that holds its clusterID, whether
// or not its provider can be used, and records what the deletion of one that is being
// deleted must wait for.
func (r *Reconciler) observeResidents(ctx context.Context, o *observed) error {
	cb := o.Binding
	if o.Duplicate() {
		r.Inventory.Close(cb.Name)
	} else if err := r.Inventory.Open(ctx, cb); err != nil {
		return err
	}
	o.Holds = func(node string) bool {
		pods, err := r.Inventory.Pods(ctx, cb.Name, "")
		return err != nil || slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node && eviction.BlocksDeletion(&pod) })
	}
	if cb.DeletionTimestamp.IsZero() {
		return nil
	}
	o.drain = drain.Snapshot{
		Binding: cb, Duplicate: o.Duplicate(), NodeExists: o.OwnsNode(),
		NodeCordoned: o.OwnsNode() && o.Node.Spec.Unschedulable, NamespaceMap: o.NamespaceMap,
	}
	if o.Duplicate() {
		return nil
	}
	err := r.observeRemaining(ctx, o)
	if errors.Is(err, inventory.ErrUnknown) {
		o.unknown = true
		return nil
	}
	return err
}

func (r *Reconciler) observeRemaining(ctx context.Context, o *observed) error {
	name := o.Binding.Name
	pods, err := r.Inventory.Pods(ctx, name, "")
	if err != nil {
		return err
	}
	copies, err := r.Inventory.Copies(ctx, name)
	if err != nil {
		return err
	}
	if o.Node == nil || o.OwnsNode() { // What is on somebody else's node is not ours to wait for.
		if o.drain.Pods, err = r.Inventory.Remaining(ctx, name, ""); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return eviction.StaysOffloaded(&pod) }) {
		o.drain.Copies = copies
	}
	ctx, cancel := context.WithTimeout(ctx, sharedCacheTimeout)
	defer cancel()
	if o.drain.Volumes, err = inventory.Volumes(ctx, r.Inventory, o.Binding.Spec.ClusterID); err != nil {
		return err
	}
	if o.NamespaceMap != nil {
		return nil // Nothing is released yet, and there are many objects to check.
	}
	marked, err := inventory.Marked(ctx, r.Views, o.Binding.Spec.ClusterID)
	o.drain.Marked = len(marked)
	return err
}

// release removes the mark from all objects of the consumer that carry it, without
// asking the provider. The connection ends first, so that nobody marks them again.
func (d *deletion) release(ctx context.Context) error {
	d.Fleet.Disconnect(d.Binding.Name)
	clusterID := d.Binding.Spec.ClusterID
	marked, err := inventory.Marked(ctx, d.Views, clusterID)
	if err != nil {
		return err
	}
	errs := make([]error, len(marked))
	workqueue.ParallelizeUntil(ctx, parallel, len(marked), func(i int) {
		before := marked[i].DeepCopy()
		if !decide.Unprotect(marked[i], clusterID) {
			return
		}
		if err := d.Client.Patch(ctx, marked[i], precondition.LockedKeeping(before)); client.IgnoreNotFound(err) != nil {
			errs[i] = fmt.Errorf("removing the mark of cluster %s from %s %s/%s: %w", clusterID, before.Kind, before.Namespace, before.Name, err)
		}
	})
	return errors.Join(errs...)
}

// ofResidents is the binding, if it is being deleted: its deletion waits for what is on
// the virtual node. Its status has a node that somebody has deleted as long as that has pods.
func (r *Reconciler) ofResidents(ctx context.Context, change inventory.Change) []reconcile.Request {
	cb := &v1alpha1.ClusterBinding{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: change.Binding}, cb, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	if cb.DeletionTimestamp.IsZero() && (change.Copies || !slices.ContainsFunc(cb.Status.VirtualNodes, func(n v1alpha1.VirtualNodeStatus) bool { return isMissing(ctx, r.Client, n.Name, change) })) {
		return nil
	}
	return []reconcile.Request{trigger.Named(change.Binding)}
}

// isMissing reports whether a virtual node that a change is about does not exist.
func isMissing(ctx context.Context, cache client.Reader, node string, change inventory.Change) bool {
	if change.Pod != nil && change.Pod.Spec.NodeName != node {
		return false
	}
	return apierrors.IsNotFound(cache.Get(ctx, client.ObjectKey{Name: node}, &corev1.Node{}, client.UnsafeDisableDeepCopy))
}
