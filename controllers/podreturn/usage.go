package podreturn

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// usage remembers what the pods on each virtual node request, and how much of the quotas of each binding they use, because
// all namespaces with spec.return need it after each change of any pod there.
type usage struct {
	mu      sync.Mutex
	known   map[string]map[string]counted // By the names of the binding and of the node. For quotas, see quotas.
	changes map[string]int
}

type counted struct {
	size spill.Size
	use  *quota.Use
	at   time.Time
}

// valid is how long a sum is believed without a change.
const valid = time.Minute

// of returns what is remembered about a virtual node of a binding, or counts.
func (u *usage) of(binding, node string, now time.Time, count func() (spill.Size, error)) (spill.Size, error) {
	found, err := u.get(binding, node, now, func() (counted, error) {
		size, err := count()
		return counted{size: size, at: now}, err
	})
	return found.size, err
}

// quotas returns how much of the quotas of a binding is remembered to be used, or counts. Other quotas are counted anew.
// Other labels of a namespace are, once valid has passed.
func (u *usage) quotas(binding *v1alpha1.ClusterBinding, now time.Time, count func() (*quota.Use, error)) (*quota.Use, error) {
	name := fmt.Sprintf("quota/%s/%d", binding.UID, binding.Generation) // No node has a name with a slash.
	found, err := u.get(binding.Name, name, now, func() (counted, error) {
		use, err := count()
		return counted{use: use, at: now}, err
	})
	return found.use, err
}

func (u *usage) get(binding, name string, now time.Time, count func() (counted, error)) (counted, error) {
	u.mu.Lock()
	found, ok := u.known[binding][name]
	changes := u.changes[binding]
	u.mu.Unlock()
	if ok && now.Sub(found.at) < valid {
		return found, nil
	}
	found, err := count()
	if err != nil {
		return counted{}, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known == nil {
		u.known = map[string]map[string]counted{}
	}
	if u.known[binding] == nil {
		u.known[binding] = map[string]counted{}
	}
	if u.changes[binding] == changes { // Otherwise a pod has come or gone meanwhile.
		u.known[binding][name] = found
	}
	return found, nil
}

// keep forgets the bindings that are not among these.
func (u *usage) keep(bindings []*v1alpha1.ClusterBinding) {
	u.mu.Lock()
	defer u.mu.Unlock()
	there := map[string]bool{}
	for _, binding := range bindings {
		there[binding.Name] = true
	}
	maps.DeleteFunc(u.known, func(binding string, _ map[string]counted) bool { return !there[binding] })
	maps.DeleteFunc(u.changes, func(binding string, _ int) bool { return !there[binding] })
}

// changed forgets what is remembered about a binding.
func (u *usage) changed(binding string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.changes == nil {
		u.changes = map[string]int{}
	}
	u.changes[binding]++
	delete(u.known, binding)
}

// promises remembers what pods that return will use, until their successors are Ready: the caches do not show
// that at once, and other namespaces may see the same room.
type promises struct {
	mu sync.Mutex
	of map[string]promise // By namespace.
}

type promise struct {
	place string
	size  spill.Size
	// counts is what the successor counts for a quota.
	counts quota.Pod
}

// keep replaces the promise to the namespace of a pod.
func (p *promises) keep(place string, pod Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]promise{}
	}
	p.of[pod.Namespace] = promise{place, pod.Size, quota.PodOf(pod.Pod, false)}
}

// end ends the promise to a namespace.
func (p *promises) end(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, namespace)
}

// to returns what is promised of a place to other namespaces.
func (p *promises) to(place, except string) (sum spill.Size) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, promised := range p.of {
		if promised.place == place && namespace != except {
			sum = sum.Plus(promised.size)
		}
	}
	return sum
}

// pods returns the pods for which any of the places is promised to other namespaces. A quota of a binding holds for all its
// places together.
func (p *promises) pods(places []Place, except string) (pods []quota.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, promised := range p.of {
		if namespace != except && slices.ContainsFunc(places, func(place Place) bool { return place.Name == promised.place }) {
			pods = append(pods, promised.counts)
		}
	}
	return pods
}
