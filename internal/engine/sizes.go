package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/elastic"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/toobig"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// sizesValid is how long the used parts of the nodes are believed. Many pods may ask at once.
const sizesValid = time.Second

// sizes knows the nodes of a provider, and what the binding's pods and foreign pods use on them. Pods of other bindings
// of the consumer are in neither, so a node may have less free than it seems.
type sizes struct {
	provider *fleet.Provider
	clock    clock.PassiveClock
	// elastic returns how far the provider can grow, or nil.
	elastic func() *v1alpha1.Elastic

	mu    sync.Mutex
	at    time.Time
	nodes []toobig.Node
}

// tooBig is observe.Observer.TooBig. It says nothing if the nodes or the pods cannot be read.
func (s *sizes) tooBig(ctx context.Context, remote *corev1.Pod) (why string, ever bool) {
	e := s.elastic()
	if e != nil && len(e.Groups) == 0 && elastic.Patience(e, nil, remote) > 0 {
		return "", false // How large a new node is, is not known.
	}
	return toobig.Why(remote, append(slices.Clip(s.now(ctx)), newNodes(e)...))
}

// newNodes returns the nodes that a provider may start: one of each group that can grow. It has the labels of the group, and
// nobody knows which others. What the nodes that exist have in common, their virtual node shows, so the consumer's scheduler
// has compared the pod with that.
func newNodes(e *v1alpha1.Elastic) (nodes []toobig.Node) {
	for _, group := range elastic.Groups(e, nil) {
		node := &corev1.Node{Status: corev1.NodeStatus{Allocatable: group.Offers(), Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
		node.Labels = map[string]string{}
		for key, value := range group.Labels {
			node.Labels[key] = string(value)
		}
		nodes = append(nodes, toobig.Node{Node: node, New: true})
	}
	return nodes
}

// newNode is observe.Observer.NewNode.
func (s *sizes) newNode(ctx context.Context, remote *corev1.Pod, group field.Group) (declined string, none bool) {
	if s.elastic() == nil {
		return "", false
	}
	nodes := s.now(ctx)
	return s.provider.Autoscaler.Declined(client.ObjectKeyFromObject(remote), remote.UID), nodes != nil && toobig.None(remote.Spec.Tolerations, group, nodes)
}

func (s *sizes) now(ctx context.Context) []toobig.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.clock.Now(); now.Sub(s.at).Abs() >= sizesValid {
		s.at, s.nodes = now, s.read(ctx)
	}
	return s.nodes
}

func (s *sizes) read(ctx context.Context) []toobig.Node {
	var nodes corev1.NodeList
	var pods corev1.PodList
	of := s.provider.GetClient()
	if s.provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != "" ||
		of.List(ctx, &nodes, client.UnsafeDisableDeepCopy) != nil || of.List(ctx, &pods, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	ours := map[string]spill.Size{}
	for i := range pods.Items {
		if on := pods.Items[i].Spec.NodeName; on != "" {
			ours[on] = ours[on].Plus(spill.InUse(&pods.Items[i]))
		}
	}
	all, foreign := make([]toobig.Node, 0, len(nodes.Items)), s.provider.Foreign.Now()
	for i := range nodes.Items {
		node := &nodes.Items[i]
		all = append(all, toobig.Node{Node: node, Used: ours[node.Name].Plus(foreign.On(node.Name))})
	}
	return all
}
