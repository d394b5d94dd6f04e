package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// isGrouped reports whether a binding has, or had, other virtual nodes than the one without a group.
func isGrouped(binding *v1alpha1.ClusterBinding, existing []*corev1.Node) bool {
	return len(binding.Spec.VirtualNode.GroupBy) > 0 || grouping(binding) != nil ||
		slices.ContainsFunc(binding.Status.VirtualNodes, func(n v1alpha1.VirtualNodeStatus) bool { return n.Name != binding.VirtualNodeName() }) ||
		slices.ContainsFunc(existing, func(n *corev1.Node) bool {
			return n.Name != binding.VirtualNodeName() || n.Annotations[v1alpha1.AnnotationGroup] != "" || n.Annotations[v1alpha1.AnnotationCordoned] != ""
		})
}

// reconcileGroups reconciles the virtual nodes of a binding with groups. While the provider is away, they stay as they
// are: nobody knows its groups.
func (r *Reconciler) reconcileGroups(ctx context.Context, binding *v1alpha1.ClusterBinding, existing []*corev1.Node, offer Offer, connected bool) (ctrl.Result, error) {
	if offer.Unknown && connected && len(existing) == 0 {
		return r.createOrUpdate(ctx, binding, offer, connected)
	}
	s := members{
		Binding: binding, Grouping: groupsOf(binding, binding.Spec.VirtualNode.GroupBy, offer.Nodes, limitOf(binding, existing)), Offer: offer,
		Existing: map[string]*corev1.Node{}, Busy: busy(ctx, r.Inventory, binding.Name), Now: r.Clock.Now(), Known: r.knownOf(binding),
	}
	for _, node := range existing {
		s.Existing[node.Name] = node
	}
	if !connected {
		return r.restore(ctx, binding, offer, s)
	}
	var p plan
	if offer.Unknown {
		for _, name := range sortedNames(s.Existing) {
			p.Keep = append(p.Keep, present(s.Existing[name]))
		}
	} else {
		p = decideMembers(s)
		offer.Used = used(ctx, r.Inventory, binding.Name, p.Keep)
		offer.Rooms = divide(binding, offer, s.Groups)
	}
	result, err := r.actOn(ctx, binding, offer, p)
	var again time.Duration
	if s.Grouping.Waiting = p.Waiting; err == nil {
		again, err = r.report(ctx, binding, &s.Grouping, offer)
	}
	after, err := retry.Done(err)
	after.RequeueAfter = retry.Sooner(retry.Sooner(after.RequeueAfter, result.RequeueAfter), retry.Sooner(again, p.RecheckAfter))
	return after, err
}

// restore creates the virtual nodes that somebody has deleted while the provider is away, and that have pods: Kubernetes
// would delete them.
func (r *Reconciler) restore(ctx context.Context, binding *v1alpha1.ClusterBinding, offer Offer, s members) (ctrl.Result, error) {
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(s.Known)) {
		if s.deleted(name) {
			_, err := r.createOrUpdate(ctx, binding, offer.of(s.Known[name]), false)
			failed = append(failed, err)
		}
	}
	return retry.Done(errors.Join(failed...))
}

// knownOf returns the virtual nodes of a binding that this process has kept, and those that its status has.
func (r *Reconciler) knownOf(binding *v1alpha1.ClusterBinding) map[string]Member {
	kept, _ := r.known.Load(binding.UID)
	known, _ := kept.(map[string]Member)
	return withRecorded(binding, known)
}

// used returns what the pods request on virtual nodes that are to go, because groupBy has replaced them or the provider has
// no such node any more. The others offer that much less.
func used(ctx context.Context, on *inventory.Inventory, binding string, all []Member) spill.Size {
	pods, err := on.Pods(ctx, binding, "")
	if err != nil {
		return nil // They are known soon.
	}
	leaving := sets.New[string]()
	for _, m := range all {
		if m.Cordoned != "" || !m.EmptySince.IsZero() {
			leaving.Insert(m.Name)
		}
	}
	var sum spill.Size
	for i := range pods {
		if leaving.Has(pods[i].Spec.NodeName) {
			sum = sum.Plus(spill.InUse(&pods[i]))
		}
	}
	return sum
}

// actOn creates and updates virtual nodes, and then deletes what is to go.
func (r *Reconciler) actOn(ctx context.Context, binding *v1alpha1.ClusterBinding, offer Offer, p plan) (ctrl.Result, error) {
	var result ctrl.Result
	var failed []error
	names, kept := make([]string, 0, len(p.Keep)), map[string]Member{}
	for _, member := range p.Keep {
		kept[member.Name] = Member{Group: Group{Name: member.Name, Labels: member.Labels}, EmptySince: member.EmptySince, Cordoned: member.Cordoned}
		one, err := r.createOrUpdate(ctx, binding, offer.of(member), true)
		result.RequeueAfter = retry.Sooner(result.RequeueAfter, one.RequeueAfter)
		failed = append(failed, err)
		names = append(names, member.Name)
	}
	r.known.Store(binding.UID, kept)
	r.Leases.Follow(binding.Name, names) //nolint:contextcheck // Each Lease has the context of its engagement.
	if err := errors.Join(failed...); err != nil {
		return result, err
	}
	for _, node := range p.Delete {
		failed = append(failed, r.delete(ctx, node))
	}
	return result, errors.Join(failed...)
}

// busy returns members.Busy. While the pods are not known, each node has some.
func busy(ctx context.Context, all *inventory.Inventory, binding string) func(node string) bool {
	pods, err := all.Pods(ctx, binding, "")
	nodes := sets.New[string]()
	for i := range pods {
		if eviction.BlocksDeletion(&pods[i]) {
			nodes.Insert(pods[i].Spec.NodeName)
		}
	}
	return func(node string) bool { return err != nil || nodes.Has(node) }
}

// ofPods returns the binding if one of its virtual nodes may wait for its last pod.
func (r *Reconciler) ofPods(ctx context.Context, change inventory.Change) []reconcile.Request {
	if change.Copies {
		return nil
	}
	if change.Pod != nil {
		node := &corev1.Node{}
		err := r.Client.Get(ctx, client.ObjectKey{Name: change.Pod.Spec.NodeName}, node, client.UnsafeDisableDeepCopy)
		// One that is being deleted does not say any more that it waits.
		waits := pod.StuckOf(change.Pod) != nil || !change.Pod.DeletionTimestamp.IsZero()
		if cordoned := err == nil && node.Annotations[v1alpha1.AnnotationCordoned] != ""; !cordoned && !waits {
			return nil
		} else if !cordoned {
			return ofProblem(r.Client)(ctx, change.Binding, change.Pod)
		}
	}
	return []reconcile.Request{trigger.Named(change.Binding)}
}

// delete deletes a virtual node that has no pods. The cache may lag, so the API server is asked. The Lease goes with
// the node.
func (r *Reconciler) delete(ctx context.Context, node *corev1.Node) error {
	var pods corev1.PodList
	if err := r.Live.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		return fmt.Errorf("listing the pods on Node %s: %w", node.Name, err)
	}
	for i := range pods.Items {
		if eviction.BlocksDeletion(&pods.Items[i]) {
			return nil // The inventory shows it soon.
		}
	}
	exactly, version := precondition.Exactly(node), node.ResourceVersion
	exactly.ResourceVersion = &version
	if err := r.Client.Delete(ctx, node, exactly); retry.IgnoreGone(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", node.Name, err)
	}
	r.Pace.Forget(node.Name)
	r.written.Forget(client.ObjectKeyFromObject(node))
	return nil
}
