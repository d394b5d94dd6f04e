package foreign

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/decide/spill"
)

// What is held takes about these bytes, maps included. Names count in addition.
const (
	perPod    = 64
	perShape  = 128
	perAmount = 24
	perNode   = 256
	perName   = 96
)

// mostAmounts is how many resources of a pod are held. A usual pod requests two or three.
const mostAmounts = 16

// key is a hash. It takes the same memory however long the text is. A provider whose UIDs collide has itself to blame.
type key uint64

func keyOf(text string) key {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // It never fails.
	return key(h.Sum64())
}

// table has the nodes and the requests of pods.
type table struct {
	limit, bytes int64

	pods  map[key]held
	nodes map[string]*node
	// shapes has what pods request: most request what many others do.
	shapes map[key]*shape
	// names has one copy of each name of a resource. The others would keep more of the answer.
	names map[corev1.ResourceName]corev1.ResourceName
}

// held is what is held of a pod.
type held struct {
	node  *node
	shape *shape
}

type node struct {
	name string
	used spill.Size
	pods int
}

type shape struct {
	key  key
	size spill.Size
	pods int
}

// newTable returns an empty table that may take so many bytes.
func newTable(limit int64) *table {
	return &table{limit: limit, pods: map[key]held{}, nodes: map[string]*node{}, shapes: map[key]*shape{}, names: map[corev1.ResourceName]corev1.ResourceName{}}
}

// isFull reports whether the table takes more than it may.
func (t *table) isFull() bool { return t.bytes > t.limit }

// used returns what the pods of each node request together. No Size in it changes.
func (t *table) used() map[string]spill.Size {
	used := make(map[string]spill.Size, len(t.nodes))
	for name, n := range t.nodes {
		used[name] = n.used
	}
	return used
}

// put notes a pod, and reports whether anything has changed.
func (t *table) put(pod *corev1.Pod) (changes bool) {
	uid, size := keyOf(string(pod.UID)), bounded(spill.InUse(pod))
	if size == nil || pod.Spec.NodeName == "" {
		return t.drop(uid)
	}
	like := keyOfSize(size)
	if before, there := t.pods[uid]; there {
		if before.node.name == pod.Spec.NodeName && before.shape.key == like {
			return false
		}
		t.drop(uid)
	}
	n, s := t.node(pod.Spec.NodeName), t.shape(like, size)
	n.pods++
	s.pods++
	n.used = n.used.Plus(s.size)
	t.pods[uid] = held{n, s}
	t.bytes += perPod
	return true
}

// drop forgets a pod, and reports whether it was there.
func (t *table) drop(uid key) bool {
	before, there := t.pods[uid]
	if !there {
		return false
	}
	delete(t.pods, uid)
	t.bytes -= perPod
	n, s := before.node, before.shape
	n.used = n.used.Minus(s.size)
	if n.pods--; n.pods == 0 {
		delete(t.nodes, n.name)
		t.bytes -= n.bytes()
	}
	if s.pods--; s.pods == 0 {
		delete(t.shapes, s.key)
		t.bytes -= s.bytes()
	}
	return true
}

func (n *node) bytes() int64 { return int64(perNode + len(n.name)) }

func (s *shape) bytes() int64 { return int64(perShape + perAmount*len(s.size)) }

func (t *table) node(name string) *node {
	n := t.nodes[name]
	if n == nil {
		n = &node{name: strings.Clone(name)}
		t.nodes[n.name] = n
		t.bytes += n.bytes()
	}
	return n
}

func (t *table) shape(like key, size spill.Size) *shape {
	s := t.shapes[like]
	if s == nil {
		s = &shape{key: like, size: make(spill.Size, len(size))}
		for i, a := range size {
			s.size[i] = spill.Amount{Name: t.name(a.Name), Value: a.Value}
		}
		t.shapes[like] = s
		t.bytes += s.bytes()
	}
	return s
}

// name returns the one copy of the name of a resource. It is kept until the next list.
func (t *table) name(of corev1.ResourceName) corev1.ResourceName {
	kept, there := t.names[of]
	if !there {
		kept = corev1.ResourceName(strings.Clone(string(of)))
		t.names[kept] = kept
		t.bytes += int64(perName + len(kept))
	}
	return kept
}

// bounded keeps what all pods request, and the first other resources by name.
func bounded(size spill.Size) spill.Size {
	if len(size) <= mostAmounts {
		return size
	}
	usual := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceEphemeralStorage, corev1.ResourceMemory, corev1.ResourcePods}
	others := 0
	return slices.DeleteFunc(size, func(a spill.Amount) bool {
		if slices.Contains(usual, a.Name) {
			return false
		}
		others++
		return others > mostAmounts-len(usual)
	})
}

func keyOfSize(size spill.Size) key {
	h := fnv.New64a()
	var value [8]byte
	for _, a := range size {
		_, _ = h.Write([]byte(a.Name))                           // It never fails, and no name has a zero byte.
		binary.LittleEndian.PutUint64(value[:], uint64(a.Value)) //nolint:gosec // Only equal values must look the same.
		_, _ = h.Write([]byte{0})
		_, _ = h.Write(value[:])
	}
	return key(h.Sum64())
}
