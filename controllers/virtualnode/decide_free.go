package virtualnode

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// setRoom sets what the node has, and what of it our pods may request. It sets nothing on a new node while the other pods,
// or ours, are not known yet: Kubernetes takes the capacity for allocatable if only that is set.
func setRoom(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) {
	if (offer.Unread || unshared(offer)) && node.Status.Allocatable == nil {
		return
	}
	left, all := allocatable(node, binding, offer), remainingCapacity(binding, offer)
	if unshared(offer) {
		all = least(maps.Clone(node.Status.Capacity), all)
	}
	node.Status.Capacity, node.Status.Allocatable = all, left
}

// unshared reports whether the node is of a group whose part of what can grow is not known yet. It shows no more than before
// then, and less only if there cannot be as much.
func unshared(o Offer) bool {
	_, grouped := o.Rooms[o.Member.Name]
	return o.Unshared && grouped
}

// allocatable returns what our pods may request together: the node's capacity, but no more than other pods leave on the
// provider's nodes. The limits of the binding are shares of all that the nodes have, so they do not move when other pods
// come and go.
//
// As long as only other pods have changed, and by small amounts, the node keeps what it shows, until that is due
// (Offer.Exact). While they are not known yet, it shows no more than before.
func allocatable(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) corev1.ResourceList {
	all, shown := remainingCapacity(binding, offer), node.Status.Allocatable
	switch {
	case offer.Unread:
		return least(maps.Clone(shown), all)
	case unshared(offer):
		return least(maps.Clone(shown), exactly(binding, offer))
	case offer.Foreign == nil:
		return all
	}
	left := exactly(binding, offer)
	if !offer.Exact && maps.EqualFunc(node.Status.Capacity, all, equal) && spill.Similar(shown, left, all) {
		return shown
	}
	return left
}

// exactly is allocatable without regard to what the node shows.
func exactly(binding *v1alpha1.ClusterBinding, offer Offer) corev1.ResourceList {
	if offer.Rooms != nil {
		return maps.Clone(offer.Rooms[offer.Member.Name].Free)
	}
	return remaining(binding, offer, total(offer), sum(offer, offer.left))
}

// lags reports whether the node shows a little more or less than what other pods leave, so that it has to be written
// later.
func lags(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) bool {
	if frozen(binding) || offer.Unknown || offer.Exact || offer.Foreign == nil || unshared(offer) {
		return false
	}
	return !maps.EqualFunc(node.Status.Allocatable, exactly(binding, offer), equal)
}

// left returns what other pods leave of a provider's node: nothing of a resource if they request more than the node has.
func (o Offer) left(node *corev1.Node) corev1.ResourceList {
	used := o.Foreign.On(node.Name).Requests()
	if len(used) == 0 {
		return node.Status.Allocatable
	}
	left := make(corev1.ResourceList, len(node.Status.Allocatable))
	for name, quantity := range node.Status.Allocatable {
		rest, taken := quantity.DeepCopy(), used[name]
		if rest.Sub(taken); rest.Sign() < 0 || taken.Sign() < 0 { // More pods than a number can count.
			rest.Sub(rest.DeepCopy())
		}
		left[name] = rest
	}
	return left
}

func equal(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

// hasRoom reports whether a node with so much takes pods that request something.
func hasRoom(allocatable corev1.ResourceList) bool {
	for _, name := range []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, has := allocatable[name]; has && quantity.IsZero() {
			return false
		}
	}
	return len(allocatable) > 0
}
