package podreturn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/stuckpod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// errNodesUnknown is returned until the watch of the consumer's own nodes has shown all of them and their pods.
var errNodesUnknown = errors.New("the consumer's own nodes and the pods on them are not known yet")

// observe collects what is known about a namespace. It reads caches.
func (r *Reconciler) observe(ctx context.Context, nso *v1alpha1.NamespaceOffloading, memory *memory) (Snapshot, error) {
	s := Snapshot{Offloading: nso, Shared: r.Shared, Doubtful: spill.Read(nso).Doubtful, Now: r.Clock.Now()}
	if s.Shared {
		return s, nil
	}
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return s, err
	}
	s.Tiers, _ = namespaceoffloading.Tiers(nso, bindings)
	s.Places = make([][]Place, len(s.Tiers))
	if err := r.local(&s, memory.last); err != nil {
		return s, err
	}
	if err := r.waiting(ctx, &s); err != nil {
		return s, err
	}
	r.used.keep(bindings.Usable())
	quotas := r.limiter(nso.Namespace)
	for _, binding := range bindings.Usable() {
		tier := spill.Of(s.Tiers, binding.Spec.ClusterID)
		if tier < 0 || bindings.Holder(binding.Spec.ClusterID) != binding.Name {
			continue
		}
		if err := r.provider(ctx, &s, binding, tier, memory.last, quotas); err != nil {
			return s, err
		}
	}
	s.Waiting += stuckBefore(s.Pods)
	return s, nil
}

// stuckBefore counts the pods that wait in a provider although they run in no later tier than another pod. What they
// wait for, such as a host of their own, another pod that returns there would wait for, too.
func stuckBefore(all []Pod) (waiting int) {
	last := 0
	for i := range all {
		last = max(last, all[i].Tier)
	}
	for i := range all {
		if all[i].Tier < last && pod.StuckOf(all[i].Pod) != nil {
			waiting++
		}
	}
	return waiting
}

// provider adds a provider: its pods of the namespace, and the room there.
func (r *Reconciler) provider(ctx context.Context, s *Snapshot, binding *v1alpha1.ClusterBinding, tier int, last spill.Returned, quotas *limiter) error {
	nodes, err := consumer.VirtualNodes(ctx, r.Client, binding)
	if err != nil {
		return err
	}
	_, connected := r.Largest(ctx, binding.Name, nil)
	s.Connecting = s.Connecting || !connected && namespaceoffloading.Answers(binding)
	away := !slices.ContainsFunc(nodes, field.IsNodeReady) || !connected || !namespaceoffloading.Answers(binding)
	if err := r.residents(ctx, s, binding, tier, away, last); err != nil {
		return err
	}
	// What pods use on a node that is to go, no other node shows.
	leaving := slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Annotations[v1alpha1.AnnotationCordoned] != "" })
	if away || leaving || !binding.DeletionTimestamp.IsZero() || !mapped(s.Offloading, binding.Spec.ClusterID) {
		return nil
	}
	had := len(s.Places[tier])
	for _, node := range nodes {
		if err := r.room(ctx, s, binding, tier, node); err != nil {
			return err
		}
	}
	return quotas.limit(ctx, binding, s.Places[tier][had:])
}

// room adds the room of one virtual node.
func (r *Reconciler) room(ctx context.Context, s *Snapshot, binding *v1alpha1.ClusterBinding, tier int, node *corev1.Node) error {
	group, readable := field.ParseGroup(node.Annotations[v1alpha1.AnnotationGroup])
	largest, connected := r.Largest(ctx, binding.Name, group)
	if !open(node) || !readable || !connected {
		return nil
	}
	name := binding.Spec.ClusterID
	if node.Name != binding.VirtualNodeName() {
		name = node.Name
	}
	used, err := r.used.of(binding.Name, node.Name, r.Clock.Now(), func() (spill.Size, error) { return r.requests(ctx, binding.Name, node.Name) })
	if err != nil {
		return err
	}
	shown := spill.SizeOfList(node.Status.Allocatable)
	if binding.Spec.VirtualNode.Elastic != nil {
		shown = existing(shown, r.Exists(ctx, binding.Name, group))
	}
	free := shown.Minus(used)
	if largest != nil {
		free = free.Within(largest)
	}
	s.Places[tier] = append(s.Places[tier], Place{Name: name, Node: node, Free: free, Promised: r.promised.to(name, s.Offloading.Namespace)})
	return nil
}

// local adds the consumer's own nodes, if the first tier is local. They are watched from then on.
func (r *Reconciler) local(s *Snapshot, last spill.Returned) error {
	local := len(s.Tiers) > 0 && s.Tiers[0].Local
	r.Local.Need(s.Offloading.Namespace, local)
	if !local {
		return nil
	}
	nodes, known := r.Local.Nodes()
	if !known {
		return errNodesUnknown // A change is reported once they are known.
	}
	for _, node := range nodes {
		if open(node.Node) { // With other labels or taints, it is another place.
			name := fmt.Sprint("/", node.Name, "/", node.Shape)
			s.Places[0] = append(s.Places[0], Place{Name: name, Node: node.Node, Free: node.Free, Promised: r.promised.to(name, s.Offloading.Namespace)})
		}
	}
	if last.Owner == "" {
		return nil
	}
	if there, ready := r.Local.Successor(types.UID(last.Owner), func(created time.Time) bool { return last.Follows(created, s.Now) }); there {
		s.Successors = append(s.Successors, spill.Successor{Ready: ready})
	}
	return nil
}

// waiting counts the pods of the namespace that wait for a node. The cache has only pods without a node. Those of
// DaemonSets wait for a certain node.
func (r *Reconciler) waiting(ctx context.Context, s *Snapshot) error {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.Offloading.Namespace)); err != nil {
		return fmt.Errorf("listing the pods of namespace %s that wait for a node: %w", s.Offloading.Namespace, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp.IsZero() && !eviction.IsDaemonSetPod(pod) {
			s.Waiting++
		}
		s.open(pod)
	}
	return nil
}

func (s *Snapshot) open(pod *corev1.Pod) {
	if opened := spill.ParseOpened(pod.Annotations[v1alpha1.AnnotationOverflow]); len(opened) > 0 {
		s.Opened = append(s.Opened, opened)
	}
}

// residents adds the pods of the namespace on the virtual node of a binding.
func (r *Reconciler) residents(ctx context.Context, s *Snapshot, binding *v1alpha1.ClusterBinding, tier int, away bool, last spill.Returned) error {
	pods, err := r.Inventory.Pods(ctx, binding.Name, s.Offloading.Namespace)
	if err != nil {
		return fmt.Errorf("provider %s: %w", binding.Spec.ClusterID, err)
	}
	for i := range pods {
		s.open(&pods[i])
		if last.Owner != "" && ownerOf(&pods[i]) == last.Owner && last.Follows(pods[i].CreationTimestamp.Time, s.Now) && !leaves(&pods[i]) {
			s.Successors = append(s.Successors, spill.Successor{Tier: tier, Ready: field.IsReady(&pods[i])})
		}
		if !leaves(&pods[i]) && stuckpod.Waits(&pods[i], s.Offloading) {
			s.Waiting++
		}
		if !leaves(&pods[i]) && !eviction.IsDaemonSetPod(&pods[i]) {
			s.Pods = append(s.Pods, Pod{Pod: &pods[i], Tier: tier, Size: spill.InUse(&pods[i]), Away: away})
		}
	}
	return nil
}

// requests returns what all pods on a virtual node of a binding request together.
func (r *Reconciler) requests(ctx context.Context, binding, node string) (spill.Size, error) {
	pods, err := r.Inventory.Pods(ctx, binding, "")
	if err != nil {
		return nil, err
	}
	sum := map[corev1.ResourceName]int64{}
	for i := range pods {
		if pods[i].Spec.NodeName != node {
			continue
		}
		for _, a := range spill.InUse(&pods[i]) {
			sum[a.Name] += a.Value
		}
	}
	var size spill.Size
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		size = append(size, spill.Amount{Name: name, Value: sum[name]})
	}
	return size, nil
}

// mapped reports whether the namespace has its remote namespace in a provider.
func mapped(nso *v1alpha1.NamespaceOffloading, clusterID string) bool {
	return slices.ContainsFunc(nso.Status.RemoteNamespaceConditions, func(remote v1alpha1.RemoteNamespaceStatus) bool {
		return remote.Cluster == clusterID && meta.IsStatusConditionTrue(remote.Conditions, v1alpha1.RemoteNamespaceReady)
	})
}

// LargestIn returns Reconciler.Largest for a fleet: a pod cannot request more than pods that are not ours leave on the
// largest node of the group. What of a node counts is what its virtual node shows. It is nil if the manager may not read
// the nodes.
func LargestIn(providers *fleet.Fleet) func(ctx context.Context, binding string, group field.Group) (spill.Size, bool) {
	return func(ctx context.Context, binding string, group field.Group) (spill.Size, bool) {
		provider, err := providers.Get(binding)
		if err != nil || provider.Fenced() != nil {
			return nil, false
		}
		var list corev1.NodeList
		if provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != "" {
			return nil, true
		}
		if err := provider.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, false // The connection is ending.
		}
		of := slices.DeleteFunc(list.Items, func(n corev1.Node) bool { return !group.Holds(n.Labels) })
		return largest(of, nodes.Listed(provider.Limits.Now().TolerationKeys), provider.Foreign.Now()), true
	}
}

// ExistsIn returns Reconciler.Exists for a fleet: what pods that are not ours leave on the nodes that take pods. It is nothing
// if the manager may not read the nodes.
func ExistsIn(providers *fleet.Fleet) func(ctx context.Context, binding string, group field.Group) spill.Size {
	return func(ctx context.Context, binding string, group field.Group) spill.Size {
		provider, err := providers.Get(binding)
		if err != nil || provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != "" {
			return nil
		}
		var list corev1.NodeList
		if err := provider.GetClient().List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil // The connection is ending.
		}
		of := slices.DeleteFunc(list.Items, func(n corev1.Node) bool { return !group.Holds(n.Labels) })
		return together(of, len(group) == 0, nodes.Listed(provider.Limits.Now().TolerationKeys), provider.Foreign.Now())
	}
}
