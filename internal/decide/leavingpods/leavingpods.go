// Package leavingpods decides, without any I/O, which counts of leaving pods are in the status of a
// NamespaceMap. A leaving pod is one that must leave the virtual node.
//
// If replicas share the bindings, the replica that decides about NamespaceOffloadings does not watch the pods
// of all virtual nodes. It reads these counts instead, and waits until each expected count exists. A missing
// count says nothing.
package leavingpods

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// mostName and mostRefused are the limits of the texts in the API.
	mostName    = 317
	mostRefused = 1024
	// mostTexts limits all texts of one map, in bytes. If etcd refused a NamespaceMap because of its size,
	// the map would have no counts, and everything that waits for them would wait forever.
	mostTexts = 256 << 10
)

// Mapped returns the local namespaces that a NamespaceMap asks for or reports on; nil if there is no map.
func Mapped(nsm *v1alpha1.NamespaceMap) sets.Set[string] {
	if nsm == nil {
		return nil
	}
	return namespacemap.Namespaces(nsm)
}

// Reports reports whether the pods of an offloading's namespace are counted for a binding. They are if they
// must leave its virtual node, and something waits for that. mapped is the result of Mapped. Without a remote
// namespace, only a mount namespace can have pods.
func Reports(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, mapped sets.Set[string]) bool {
	if mapped == nil {
		return false
	}
	if mapped.Has(nso.Namespace) {
		return !namespaceoffloading.Selects(nso, binding) || EvictsAll(binding)
	}
	return !nso.DeletionTimestamp.IsZero() && binding.Spec.MountNamespace != ""
}

// EvictsAll reports whether the deletion of the binding evicts all pods.
func EvictsAll(binding *v1alpha1.ClusterBinding) bool {
	return !binding.DeletionTimestamp.IsZero() && binding.Spec.Drains()
}

// Status returns the counts for the map's status, by what is left of each local namespace. All namespaces
// share the room for texts equally, and refusals come first. Every count is included.
func Status(left map[string]eviction.Remaining) []v1alpha1.LeavingPods {
	each := mostTexts / max(1, len(left))
	var status []v1alpha1.LeavingPods
	for _, namespace := range slices.Sorted(maps.Keys(left)) {
		l := left[namespace]
		refused, room := fitting(bounded(l.Refused, mostRefused), each)
		names, _ := fitting(bounded(l.Names, mostName), room)
		status = append(status, v1alpha1.LeavingPods{
			Namespace: namespace,
			Count:     ptr.To(int32(min(l.Count, 1<<30))), //nolint:gosec // Bounded just here.
			Names:     names,
			Refused:   refused,
		})
	}
	return status
}

func bounded(texts []string, most int) []string {
	var all []string
	for _, one := range texts {
		all = append(all, text.Bound(one, most))
	}
	return all
}

// fitting returns the first texts that fit into room, in bytes, and how much room is left.
func fitting(texts []string, room int) (fit []string, left int) {
	for i, text := range texts {
		if len(text) > room {
			return texts[:i:i], room
		}
		room -= len(text)
	}
	return texts, room
}

// Of returns what the map says is left of a local namespace; false if it says nothing.
func Of(nsm *v1alpha1.NamespaceMap, namespace string) (eviction.Remaining, bool) {
	for i := range nsm.Status.LeavingPods {
		if said := &nsm.Status.LeavingPods[i]; said.Namespace == namespace {
			return eviction.Remaining{Count: int(ptr.Deref(said.Count, 0)), Names: said.Names, Refused: said.Refused}, true
		}
	}
	return eviction.Remaining{}, false
}
