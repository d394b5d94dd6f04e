package virtualnode

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/elastic"
	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/field"
)

// growing returns the offer with what new nodes would add by spec.virtualNode.elastic of the binding: to the whole
// provider, and to each group. What exists is never less because of that.
func (o Offer) growing(binding *v1alpha1.ClusterBinding) Offer {
	o.Growth, o.Growths = nil, nil
	e := binding.Spec.VirtualNode.Elastic
	if e == nil || o.Unknown {
		return o
	}
	exists := existing(o.Nodes, func(n *corev1.Node) bool { return o.TakesPods(n) || broken(n) })
	usable := slices.ContainsFunc(o.Nodes, func(n corev1.Node) bool { return o.TakesPods(&n) })
	if !usable && slices.ContainsFunc(o.Nodes, func(n corev1.Node) bool { return broken(&n) && !n.Spec.Unschedulable }) {
		return o // Something is wrong there. An autoscaler that removes its last node has cordoned it.
	}
	if len(e.Groups) == 0 {
		o.Growth = beyond(e.Max, exists)
		return o
	}
	parts := make([]corev1.ResourceList, len(e.Groups))
	for i := range e.Groups {
		parts[i] = o.missing(&e.Groups[i])
	}
	rest := sumOf(parts)
	for name, allowed := range beyond(e.Max, exists) {
		if all, grows := rest[name]; grows && all.Cmp(allowed) > 0 {
			rest[name] = allowed
		}
	}
	parts = share(o, e, parts, rest)
	o.Growth, o.Growths = rest, map[string]corev1.ResourceList{}
	for i := range e.Groups {
		o.Growths[elastic.LabelsOf(&e.Groups[i]).String()] = parts[i]
	}
	return o
}

// existing returns all that some of the nodes have, whichever pods may use it: an autoscaler counts the CPUs of nodes with
// GPUs, too.
func existing(all []corev1.Node, counts func(*corev1.Node) bool) corev1.ResourceList {
	exists := corev1.ResourceList{}
	for i := range all {
		if !counts(&all[i]) {
			continue
		}
		for name, quantity := range all[i].Status.Allocatable {
			if offered(name, quantity) {
				plus(exists, corev1.ResourceList{name: quantity})
			}
		}
	}
	return bounded(exists)
}

// canHave returns what there can be by another binding of the provider, instead of by this one. All is by this one.
func (o Offer) canHave(other *v1alpha1.ClusterBinding, all corev1.ResourceList) corev1.ResourceList {
	if len(o.Growth) == 0 && other.Spec.VirtualNode.Elastic == nil {
		return all
	}
	exists := corev1.ResourceList{}
	for name, quantity := range all {
		rest := quantity.DeepCopy()
		rest.Sub(o.Growth[name])
		exists[name] = rest
	}
	return bounded(plus(exists, o.growing(other).Growth))
}

// broken reports whether a node is cordoned, or not ready any more. It counts for the limits of an autoscaler, but takes no
// pods. One that has never been ready is still starting.
func broken(node *corev1.Node) bool {
	const atOnce = 30 * time.Second // A node that never reports gets another condition after 40 seconds.
	ready := field.First(node.Status.Conditions, func(c *corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	starting := ready == nil || ready.LastTransitionTime.Sub(node.CreationTimestamp.Time) < atOnce
	return !nodes.IsVirtual(node) && node.DeletionTimestamp.IsZero() && (node.Spec.Unschedulable || !field.IsNodeReady(node) && !starting)
}

// missing returns what the nodes of a group would have that do not exist. A usable node that does not list a resource
// still misses it: a device plugin registers later than its node, and the devices of DRA are never listed.
func (o Offer) missing(group *v1alpha1.ElasticGroup) corev1.ResourceList {
	more := group.Offers()
	for name, quantity := range more {
		quantity = whole(name, quantity)
		quantity.Mul(max(0, int64(group.MaxNodes)-int64(o.nodesOf(group, name))))
		more[name] = quantity
	}
	return more
}

// nodesOf counts the nodes of a group that take pods, and have the resource, and those that are broken.
func (o Offer) nodesOf(group *v1alpha1.ElasticGroup, resource corev1.ResourceName) (n int) {
	labels := elastic.LabelsOf(group)
	for i := range o.Nodes {
		has := o.Nodes[i].Status.Allocatable[resource]
		if labels.Holds(o.Nodes[i].Labels) && (broken(&o.Nodes[i]) || has.Sign() > 0 && o.TakesPods(&o.Nodes[i])) {
			n++
		}
	}
	return n
}

// whole rounds down. Only CPUs can be divided: the API server refuses a Node with half a pod or device.
func whole(name corev1.ResourceName, quantity resource.Quantity) resource.Quantity {
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(quantity.MilliValue(), quantity.Format)
	}
	rounded := resource.NewQuantity(quantity.Value(), quantity.Format)
	if rounded.Cmp(quantity) > 0 {
		rounded = resource.NewQuantity(rounded.Value()-1, quantity.Format)
	}
	return *rounded
}

// beyond returns how much more of each resource there can be than exists.
func beyond(most map[corev1.ResourceName]resource.Quantity, exists corev1.ResourceList) corev1.ResourceList {
	more := corev1.ResourceList{}
	for name, quantity := range most {
		rest := whole(name, quantity)
		if rest.Sub(exists[name]); rest.Sign() < 0 {
			rest = resource.Quantity{Format: rest.Format}
		}
		more[name] = rest
	}
	return more
}

// plus returns the sum of each resource. The first list changes.
func plus(total, more corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range more {
		added := total[name]
		added.Add(quantity)
		total[name] = added
	}
	return total
}

// elasticGroups returns the groups that can grow, by the names of their virtual nodes, and the keys of their labels.
func elasticGroups(binding *v1alpha1.ClusterBinding) (all map[string]*Group, keys map[string]bool) {
	all, keys = map[string]*Group{}, map[string]bool{}
	for _, group := range elastic.Groups(binding.Spec.VirtualNode.Elastic, nil) {
		values, labels := map[string]string{}, elastic.LabelsOf(group)
		for key, value := range labels {
			values[key], keys[key] = *value, true
		}
		name := groupName(binding, values)
		all[name] = &Group{Name: name, Labels: labels, Grows: true}
	}
	return all, keys
}

// waiting is how many pods wait in the provider for a node.
type waiting struct {
	// All are those that its scheduler finds no node for, and Declined those of them for which its autoscaler starts none.
	All, Declined int
}

// elasticCondition says how much exists of what there can be. It is nil for a binding whose provider does not grow.
func elasticCondition(binding *v1alpha1.ClusterBinding, offer Offer, w waiting) *metav1.Condition {
	e := binding.Spec.VirtualNode.Elastic
	if e == nil {
		return nil
	}
	offer = offer.growing(binding)
	exists := existing(offer.Nodes, offer.TakesPods)
	if over := offer.aboveMax(e, exists); len(over) > 0 {
		c := conditions.New(v1alpha1.BindingElastic, metav1.ConditionFalse, v1alpha1.ReasonMaxBelowExisting,
			fmt.Sprintf("more exists than spec.virtualNode.elastic says there can be, so the virtual nodes show what exists: %s; %s", strings.Join(over, ", "), w))
		return &c
	}
	all := plus(exists.DeepCopy(), offer.Growth)
	there, can := exists.Cpu(), all.Cpu()
	reason := v1alpha1.ReasonElastic
	if w.All > 0 {
		reason = v1alpha1.ReasonPodsWait
	}
	c := conditions.New(v1alpha1.BindingElastic, metav1.ConditionTrue, reason, fmt.Sprintf("%s of %s CPUs exist, %s", there, can, w))
	return &c
}

// aboveMax lists the fields that say less than what exists.
func (o Offer) aboveMax(e *v1alpha1.Elastic, exists corev1.ResourceList) (over []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Max)) {
		if has, most := exists[name], e.Max[name]; has.Cmp(most) > 0 {
			over = append(over, fmt.Sprintf("max.%s is %s, and %s exists", name, most.String(), has.String()))
		}
	}
	for i := range e.Groups {
		if n := o.nodesOf(&e.Groups[i], corev1.ResourceCPU); n > int(e.Groups[i].MaxNodes) {
			over = append(over, fmt.Sprintf("groups[%d].maxNodes is %d, and %d exist", i, e.Groups[i].MaxNodes, n))
		}
	}
	return over
}

// waitingIn counts the pods that wait.
func waitingIn(pods []corev1.Pod) (w waiting) {
	for i := range pods {
		stuck := pod.StuckOf(&pods[i])
		if stuck == nil || !stuck.Unplaced() {
			continue
		}
		if w.All++; stuck.Declined() {
			w.Declined++
		}
	}
	return w
}

func (w waiting) String() string {
	text := fmt.Sprintf("%d pods wait for more", w.All)
	switch w.All {
	case 0:
		return "no pod waits for more"
	case 1:
		text = "1 pod waits for more"
	}
	if w.Declined > 0 {
		text += fmt.Sprintf(", and the autoscaler starts no node for %d of them", w.Declined)
	}
	return text
}

// changes reports whether the condition is there already, and would say something else.
func changes(binding *v1alpha1.ClusterBinding, grown *metav1.Condition) bool {
	before := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingElastic)
	return before != nil && grown != nil && (before.Status != grown.Status || before.Reason != grown.Reason || before.Message != grown.Message)
}

// isElastic reports whether a binding has the condition Elastic, or is to have it.
func isElastic(binding *v1alpha1.ClusterBinding) bool {
	return binding.Spec.VirtualNode.Elastic != nil || meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingElastic) != nil
}
