package localroom

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
)

// pods has the requests of the pods on all nodes.
type pods struct {
	changed func()

	mu sync.Mutex
	of map[types.UID]held
	// alike has what pods on one node share that request the same: most pods request what many others do.
	alike map[string]*alike
	// sums has what the pods of each node request together.
	sums map[string]*sum
	full bool
}

// held is what is held of a pod.
type held struct {
	*alike
	// owner is a hash of the UID of its controller, and created is in Unix seconds.
	owner   uint64
	created int64
	ready   bool
}

type alike struct {
	key, node string
	size      spill.Size
	pods      int
}

type sum struct {
	size spill.Size
	pods int
}

// thin is a pod, or what is left of one until it is in the store.
type thin struct {
	metav1.ObjectMeta
	node    string
	size    spill.Size
	owner   uint64
	created int64
	ready   bool
}

func newPods(changed func()) *pods {
	return &pods{changed: changed, of: map[types.UID]held{}, alike: map[string]*alike{}, sums: map[string]*sum{}}
}

// thinOf returns what is kept of a pod. The strings are copies: otherwise they would keep more of the answer.
func thinOf(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	t := &thin{
		ObjectMeta: metav1.ObjectMeta{Namespace: strings.Clone(pod.Namespace), Name: strings.Clone(pod.Name), UID: types.UID(strings.Clone(string(pod.UID)))},
		node:       strings.Clone(pod.Spec.NodeName), size: spill.InUse(pod), created: pod.CreationTimestamp.Unix(), ready: field.IsReady(pod),
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		t.owner = hash(string(owner.UID))
	}
	return t, nil
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // It never fails.
	return h.Sum64()
}

// Transformer implements TransformingStore. A watch that begins with all pods holds them like this until the end.
func (*pods) Transformer() toolscache.TransformFunc { return thinOf }

// Add implements ReflectorStore.
func (p *pods) Add(obj any) error { return p.Update(obj) }

// Update implements ReflectorStore.
func (p *pods) Update(obj any) error {
	small, err := thinOf(obj)
	if err != nil {
		return err
	}
	pod, ok := small.(*thin)
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
	p.of, p.alike, p.sums = map[types.UID]held{}, map[string]*alike{}, map[string]*sum{}
	for _, obj := range all {
		if small, err := thinOf(obj); err == nil {
			if pod, ok := small.(*thin); ok {
				p.put(pod)
			}
		}
	}
	p.full = true
	p.mu.Unlock()
	p.changed()
	return nil
}

// Resync implements ReflectorStore.
func (*pods) Resync() error { return nil }

// put notes a pod, and reports whether anything has changed. The caller holds the lock.
func (p *pods) put(pod *thin) (changes bool) {
	if pod.size == nil || pod.node == "" {
		return p.drop(pod.UID)
	}
	before, there := p.of[pod.UID]
	key := fmt.Sprint(pod.node, pod.size)
	if there && before.key == key {
		if before.ready == pod.ready {
			return false
		}
		before.ready = pod.ready
		p.of[pod.UID] = before
		return true
	}
	p.drop(pod.UID)
	shared := p.alike[key]
	if shared == nil {
		shared = &alike{key: key, node: pod.node, size: pod.size}
		p.alike[key] = shared
	}
	of := p.sums[pod.node]
	if of == nil {
		of = &sum{}
		p.sums[shared.node] = of
	}
	shared.pods++
	of.pods++
	of.size = of.size.Plus(pod.size)
	p.of[pod.UID] = held{shared, pod.owner, pod.created, pod.ready}
	return true
}

// drop forgets a pod. The caller holds the lock.
func (p *pods) drop(uid types.UID) (changes bool) {
	before, there := p.of[uid]
	if !there {
		return false
	}
	delete(p.of, uid)
	of := p.sums[before.node]
	of.size = of.size.Minus(before.size)
	if of.pods--; of.pods == 0 {
		delete(p.sums, before.node)
	}
	if before.pods--; before.pods == 0 {
		delete(p.alike, before.key)
	}
	return true
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

// successor reports whether a controller has created a pod at such a time that is on one of the nodes, and whether one
// such pod is Ready.
func (p *pods) successor(owner types.UID, created func(time.Time) bool, on map[string]bool) (there, ready bool) {
	of := hash(string(owner))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pod := range p.of {
		if pod.owner == of && on[pod.node] && created(time.Unix(pod.created, 0)) {
			there, ready = true, ready || pod.ready
		}
	}
	return there, ready
}
