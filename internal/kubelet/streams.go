package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// How many streams may be open to one pod, to the pods of one namespace, through one binding, and in total.
// The limit for a namespace leaves room for other teams. Each stream takes two connections and some 100 KiB.
const (
	mostOfPod       = 16
	mostOfNamespace = 32
	mostOfBinding   = 128
	mostInAll       = 512
	// few is how many streams a namespace may have once three quarters of a binding's streams, or of all, are
	// open. So a few namespaces cannot take them all.
	few = 4
)

// stream is an open stream.
type stream struct {
	request  kubeletapi.Request
	target   kubeletapi.Target
	identity string
	end      context.CancelCauseFunc
	traffic  transport.Traffic
}

// kind returns the labels under which the stream is counted.
func (s *stream) kind() metrics.StreamsOf {
	return metrics.StreamsOf{ClusterID: s.target.ClusterID, Kind: s.request.Action.Subresource()}
}

// streams has the open streams. The zero value is ready for use.
type streams struct {
	mu                   sync.Mutex
	pods                 map[types.NamespacedName]map[*stream]struct{}
	namespaces, bindings map[string]int
	all                  int
	// ended is what closed streams have used.
	ended map[metrics.StreamsOf]metrics.StreamUsage
}

// open adds a stream, or says which limit is reached.
func (s *streams) open(one *stream) *kubeletapi.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod, binding := one.request.Pod, one.target.Binding
	refuse := func(most int, of string) *kubeletapi.Refusal {
		return &kubeletapi.Refusal{Reason: kubeletapi.TooManyStreams, Code: http.StatusTooManyRequests, Message: fmt.Sprintf(
			"%d streams are open %s, which is the limit: end a logs -f, exec, attach or port-forward, and try again", most, of)}
	}
	ofNamespace := s.namespaces[pod.Namespace]
	scarce := s.all >= mostInAll*3/4 || s.bindings[binding] >= mostOfBinding*3/4
	switch {
	case s.all >= mostInAll:
		return refuse(mostInAll, "through this manager")
	case s.bindings[binding] >= mostOfBinding:
		return refuse(mostOfBinding, "through ClusterBinding "+binding)
	case ofNamespace >= mostOfNamespace, scarce && ofNamespace >= few:
		return refuse(ofNamespace, "to pods of namespace "+pod.Namespace+scarcityMessage(scarce))
	case len(s.pods[pod]) >= mostOfPod:
		return refuse(mostOfPod, "to pod "+pod.String())
	}
	if s.pods == nil {
		s.ended = map[metrics.StreamsOf]metrics.StreamUsage{}
		s.pods, s.namespaces, s.bindings = map[types.NamespacedName]map[*stream]struct{}{}, map[string]int{}, map[string]int{}
	}
	if s.pods[pod] == nil {
		s.pods[pod] = map[*stream]struct{}{}
	}
	s.pods[pod][one] = struct{}{}
	s.namespaces[pod.Namespace]++
	s.bindings[binding]++
	s.all++
	return nil
}

// scarcityMessage says why a namespace may have fewer streams than otherwise.
func scarcityMessage(scarce bool) string {
	if scarce {
		return " (few are left for others)"
	}
	return ""
}

// close removes a stream that open has added.
func (s *streams) close(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count(s.ended, one, 0)
	pod, binding := one.request.Pod, one.target.Binding
	if delete(s.pods[pod], one); len(s.pods[pod]) == 0 {
		delete(s.pods, pod)
	}
	if s.namespaces[pod.Namespace]--; s.namespaces[pod.Namespace] == 0 {
		delete(s.namespaces, pod.Namespace)
	}
	if s.bindings[binding]--; s.bindings[binding] == 0 {
		delete(s.bindings, binding)
	}
	s.all--
}

// usage returns what all streams use and have used.
func (s *streams) usage() map[metrics.StreamsOf]metrics.StreamUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.ended)
	for _, ofPod := range s.pods {
		for one := range ofPod {
			count(all, one, 1)
		}
	}
	return all
}

// count adds what a stream uses.
func count(to map[metrics.StreamsOf]metrics.StreamUsage, one *stream, open int) {
	received, sent := one.traffic.Bytes()
	usage := to[one.kind()]
	to[one.kind()] = metrics.StreamUsage{Open: usage.Open + open, Received: usage.Received + received, Sent: usage.Sent + sent}
}

// ofPod returns the streams to a pod.
func (s *streams) ofPod(pod types.NamespacedName) []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.pods[pod]))
}

// through returns the streams through a ClusterBinding.
func (s *streams) through(binding string) []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*stream
	if s.bindings[binding] == 0 {
		return nil
	}
	for _, all := range s.pods {
		for one := range all {
			if one.target.Binding == binding {
				found = append(found, one)
			}
		}
	}
	return found
}
