package engine

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/toobig"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// sizesValid is how long the used parts of the nodes are believed. Many pods may ask at once.
const sizesValid = time.Second

// sizes knows the nodes of a provider, and what the binding's pods and foreign pods use on them. Pods of other bindings
// of the consumer are in neither, so a node may have less free than it seems.
type sizes struct {
	provider *fleet.Provider
	clock    clock.PassiveClock

	mu    sync.Mutex
	at    time.Time
	nodes []toobig.Node
}

// tooBig is observe.Observer.TooBig. It says nothing if the nodes or the pods cannot be read.
func (s *sizes) tooBig(ctx context.Context, remote *corev1.Pod) (why string, ever bool) {
	return toobig.Why(remote, s.now(ctx))
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
