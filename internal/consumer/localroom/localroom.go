// Package localroom knows how much is free on the consumer's own nodes, while somebody needs it.
//
// Nobody else needs these nodes or the pods on them, and there may be tens of thousands of pods. So they are watched
// only while a NamespaceOffloading has spec.return and a local tier. Of a pod, only its node and its requests are
// held: at most 200 bytes.
package localroom

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/decide/spill"
)

// +kubebuilder:rbac:groups="",resources=nodes;pods,verbs=list;watch

// Node is a node of the consumer.
type Node struct {
	// Node has what decides which pods it takes. It is shared, and callers must not change it.
	*corev1.Node
	// Free is what is allocatable and not requested.
	Free spill.Size
	// Shape differs if the labels or the taints do.
	Shape uint64
}

// Rooms watches the nodes and their pods while it is needed.
type Rooms struct {
	client kubernetes.Interface
	asked  chan struct{} // After a change of what is needed.

	mu      sync.Mutex
	needed  map[string]bool
	now     *watched // Nil while nobody needs it.
	changed []func() // The list only grows.
}

var (
	_ manager.Runnable               = &Rooms{}
	_ manager.LeaderElectionRunnable = &Rooms{}
)

// watched is one watch of the nodes and the pods.
type watched struct {
	nodes *nodes
	pods  *pods
	stop  context.CancelFunc
}

// New returns Rooms that watch nothing yet.
func New(client kubernetes.Interface) *Rooms {
	return &Rooms{client: client, asked: make(chan struct{}, 1), needed: map[string]bool{}}
}

// NeedLeaderElection is true, because only the active replica needs the memory.
func (*Rooms) NeedLeaderElection() bool { return true }

// Start starts and ends the watches as they are needed, until ctx ends.
func (r *Rooms) Start(ctx context.Context) error {
	for {
		r.adjust(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-r.asked:
		}
	}
}

// Follow calls changed after each change of what is free, or of which pods a node takes. It must not block.
func (r *Rooms) Follow(changed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, changed)
}

// Need says whether who needs the room. The watches end when nobody does. It never waits.
func (r *Rooms) Need(who string, needs bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.needed[who] == needs {
		return
	}
	if r.needed[who] = true; !needs {
		delete(r.needed, who)
	}
	select {
	case r.asked <- struct{}{}:
	default: // It is asked already.
	}
}

// NeededBy returns who needs the room, in any order.
func (r *Rooms) NeededBy() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.needed))
}

// adjust starts or ends the watches.
func (r *Rooms) adjust(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch wanted := len(r.needed) > 0; {
	case wanted == (r.now != nil):
	case !wanted:
		r.now.stop()
		r.now = nil
	default:
		ctx, stop := context.WithCancel(ctx)
		r.now = &watched{nodes: newNodes(r.notify), pods: newPods(r.notify), stop: stop}
		r.watch(ctx, "nodes", &corev1.Node{}, r.now.nodes, nil)
		r.watch(ctx, "pods", &corev1.Pod{}, r.now.pods, onNodes)
	}
}

// onNodes selects the pods that use a node.
var onNodes = fields.AndSelectors(fields.OneTermNotEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)), fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))

// watch fills a store until the watches end.
func (r *Rooms) watch(ctx context.Context, resource string, object runtime.Object, into toolscache.ReflectorStore, which fields.Selector) {
	from := toolscache.NewFilteredListWatchFromClient(r.client.CoreV1().RESTClient(), resource, "", func(o *metav1.ListOptions) {
		if which != nil {
			o.FieldSelector = which.String()
		}
	})
	reflector := toolscache.NewReflectorWithOptions(toolscache.ToListWatcherWithWatchListSemantics(from, r.client), object, into,
		toolscache.ReflectorOptions{Name: "localroom-" + resource})
	go reflector.RunWithContext(ctx)
}

func (r *Rooms) notify() {
	r.mu.Lock()
	changed := r.changed
	r.mu.Unlock()
	for _, call := range changed {
		call()
	}
}

// Successor reports whether a controller has created a pod at such a time that has one of these nodes, and whether one
// such pod is Ready.
func (r *Rooms) Successor(owner types.UID, created func(time.Time) bool) (there, ready bool) {
	r.mu.Lock()
	now := r.now
	r.mu.Unlock()
	if now == nil {
		return false, false
	}
	return now.pods.successor(owner, created, now.nodes.names())
}

// Nodes returns the consumer's own nodes, and whether they and their pods are known.
func (r *Rooms) Nodes() (all []Node, known bool) {
	r.mu.Lock()
	now := r.now
	r.mu.Unlock()
	if now == nil {
		return nil, false
	}
	used, known := now.pods.requests()
	if !known {
		return nil, false
	}
	return now.nodes.free(used)
}
