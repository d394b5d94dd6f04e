package metrics

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
)

// phasePending is the label of what is requested, with no known result yet.
const phasePending = "Pending"

// pending remembers since when entries of NamespaceMaps are Pending. Nothing in a map says that: nobody has worked on the
// entry. A new process counts anew.
type pending struct {
	mu    sync.Mutex
	since map[entry]int64
}

// entry is a local namespace in the NamespaceMap of that name.
type entry struct{ of, namespace string }

// oldest returns, by the name of the map, since when the entry is Pending that has been so longest. Maps of paused bindings,
// and those that are being deleted, wait for nobody. It forgets entries that are not Pending any more.
func (p *pending) oldest(maps []v1alpha1.NamespaceMap, paused sets.Set[string], now int64) map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, times := p.since, map[string]int64{}
	p.since = map[entry]int64{}
	for i := range maps {
		nsm := &maps[i]
		if paused.Has(nsm.Name) || !nsm.DeletionTimestamp.IsZero() {
			continue
		}
		for namespace := range unknown(nsm) {
			key := entry{nsm.Name, namespace}
			at, known := before[key]
			if !known {
				at = now
			}
			p.since[key] = at
			earliest(times, nsm.Name, at)
		}
	}
	return times
}

// unknown returns the local namespaces that a map asks for, and says nothing about.
func unknown(nsm *v1alpha1.NamespaceMap) sets.Set[string] {
	namespaces := namespacemap.Requested(nsm)
	for i := range nsm.Status.CurrentMapping {
		namespaces.Delete(nsm.Status.CurrentMapping[i].Namespace)
	}
	return namespaces
}

// paused returns the names of the paused bindings. Their maps have the same names.
func (s *State) paused() sets.Set[string] {
	names, bindings := sets.New[string](), v1alpha1.ClusterBindingList{}
	if err := s.Reader.List(context.Background(), &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return names // The cache is ending, and so is the process.
	}
	for i := range bindings.Items {
		if bindings.Items[i].Spec.Paused {
			names.Insert(bindings.Items[i].Name)
		}
	}
	return names
}
