package localroom

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// pods has the requests of the pods on the consumer's own nodes.
type pods struct {
	changed func()

	mu sync.Mutex
	of map[types.UID]*held
	// sums has what the pods of each node request together. sizes has the sizes that pods have: most pods have that
	// of many others.
	sums  map[string]*sum
	sizes map[string]*held
	full  bool
}

// held is what is known about pods on one node that request the same. Pods share it.
type held struct {
	on   *sum
	size spill.Size
}

type sum struct {
	size spill.Size
	pods int
}

func newPods(changed func()) *pods {
	return &pods{changed: changed, of: map[types.UID]*held{}, sums: map[string]*sum{}, sizes: map[string]*held{}}
}

// Add implements ReflectorStore.
func (p *pods) Add(obj any) error { return p.Update(obj) }

// Update implements ReflectorStore.
func (p *pods) Update(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", obj)
	}
	p.mu.Lock()
	changes := p.put(pod)
	p.mu.Unlock()
	if changes {
		p.changed()
	}
	return nil
}

// Delete implements ReflectorStore.
func (p *pods) Delete(obj any) error {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	pod, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%T is no object", obj)
	}
	p.mu.Lock()
	changes := p.drop(pod.GetUID())
	p.mu.Unlock()
	if changes {
		p.changed()
	}
	return nil
}

// Replace implements ReflectorStore.
func (p *pods) Replace(all []any, _ string) error {
	p.mu.Lock()
	p.of, p.sums, p.sizes = map[types.UID]*held{}, map[string]*sum{}, map[string]*held{}
	for _, obj := range all {
		if pod, ok := obj.(*corev1.Pod); ok {
			p.put(pod)
		}
	}
	p.full = true
	p.mu.Unlock()
	p.changed()
	return nil
}

// Resync implements ReflectorStore.
func (*pods) Resync() error { return nil }

// put notes a pod, and reports whether that changes what is free. The pods of virtual nodes are in the views. The
// caller holds the lock.
func (p *pods) put(pod *corev1.Pod) (changes bool) {
	size := spill.Requests(pod)
	if size == nil || pod.Spec.NodeName == "" || strings.HasPrefix(pod.Spec.NodeName, v1alpha1.VirtualNodePrefix) {
		return p.drop(pod.UID)
	}
	key := fmt.Sprint(pod.Spec.NodeName, size)
	alike := p.sizes[key]
	before := p.of[pod.UID]
	if alike != nil && alike == before {
		return false
	}
	if before != nil {
		before.on.remove(before.size)
	}
	if alike == nil {
		name := strings.Clone(pod.Spec.NodeName) // The pod's own string keeps its whole answer.
		if p.sums[name] == nil {
			p.sums[name] = &sum{}
		}
		alike = &held{p.sums[name], size}
		p.sizes[key] = alike
	}
	p.of[types.UID(strings.Clone(string(pod.UID)))] = alike
	alike.on.add(size)
	return true
}

// drop forgets a pod. The caller holds the lock.
func (p *pods) drop(uid types.UID) (changes bool) {
	before := p.of[uid]
	if before == nil {
		return false
	}
	delete(p.of, uid)
	if before.on.remove(before.size); before.on.pods == 0 { // So what is shared goes with the last pod of a node.
		maps.DeleteFunc(p.sums, func(_ string, s *sum) bool { return s == before.on })
		maps.DeleteFunc(p.sizes, func(_ string, h *held) bool { return h.on == before.on })
	}
	return true
}

func (s *sum) add(size spill.Size) {
	s.pods++
	s.size = s.size.Plus(size)
}

func (s *sum) remove(size spill.Size) {
	s.pods--
	s.size = s.size.Minus(size)
}

// requests returns what the pods of each node request, and whether all pods are known.
func (p *pods) requests() (used map[string]spill.Size, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	used = make(map[string]spill.Size, len(p.sums))
	for name, s := range p.sums {
		used[name] = slices.Clone(s.size)
	}
	return used, p.full
}
