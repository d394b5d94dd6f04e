// Package namespacemap decides, without any I/O, what a NamespaceMap asks for, and what that means for the
// remote namespaces of its provider.
//
// There are two decisions about a NamespaceMap. Desired turns the offloadings that select a provider into
// entries. Decide compares the entries with the remote namespaces that have Spillway's mark, and says what to
// create, delete and report. Both use only their arguments. So running them again after a crash leads to the
// same end.
package namespacemap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Wanted is a local namespace whose offloading selects the provider.
type Wanted struct {
	Namespace       string
	RemoteNamespace string
	// Default is set for the strategy DefaultName. An existing entry then keeps its remote name, so that a
	// manager with another consumer ID does not move namespaces.
	Default bool
	// Unknown is set for a strategy of a newer version. An existing entry keeps its remote name, and no new
	// entry is created.
	Unknown bool
	// Created is when the offloading was created. The first to ask for a name keeps it.
	Created time.Time
}

// Matches reports whether a remote namespace of that name is the wanted one, whatever consumer ID it was
// created under.
func (w Wanted) Matches(remote string) bool {
	return w.Unknown || remote == w.RemoteNamespace || w.Default && isDefaultName(remote, w.Namespace)
}

// Entries returns the entries of the spec, followed by removed entries whose remote namespace is still in the
// status. An entry that was renamed by hand has the existing name. An entry that nobody wants any more is
// included until its remote namespace is gone.
func Entries(nsm *v1alpha1.NamespaceMap) []v1alpha1.DesiredMapping {
	there := make(map[string]string, len(nsm.Status.CurrentMapping))
	for i := range nsm.Status.CurrentMapping {
		if entry := &nsm.Status.CurrentMapping[i]; entry.Phase == v1alpha1.MappingAccepted {
			there[entry.Namespace] = entry.RemoteNamespace
		}
	}
	entries := slices.Clone(nsm.Spec.DesiredMapping)
	for i := range entries {
		if remote, ok := there[entries[i].Namespace]; ok {
			entries[i].RemoteNamespace = remote
			delete(there, entries[i].Namespace)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(there)) {
		entries = append(entries, v1alpha1.DesiredMapping{Namespace: namespace, RemoteNamespace: there[namespace]})
	}
	return entries
}

// Desired returns the entries for a NamespaceMap. The current entries that are still wanted come first, in
// their order, then the new ones, oldest first. The order decides who keeps a remote name that two namespaces
// ask for.
func Desired(current []v1alpha1.DesiredMapping, wanted []Wanted) []v1alpha1.DesiredMapping {
	missing := make(map[string]Wanted, len(wanted))
	for _, w := range wanted {
		missing[w.Namespace] = w
	}
	desired := make([]v1alpha1.DesiredMapping, 0, len(wanted))
	for _, entry := range current {
		w, ok := missing[entry.Namespace]
		if !ok {
			continue
		}
		delete(missing, entry.Namespace)
		if !w.Matches(entry.RemoteNamespace) {
			entry.RemoteNamespace = w.RemoteNamespace
		}
		desired = append(desired, entry)
	}
	return append(desired, newEntries(missing)...)
}

func newEntries(missing map[string]Wanted) []v1alpha1.DesiredMapping {
	maps.DeleteFunc(missing, func(_ string, w Wanted) bool { return w.Unknown })
	added := slices.SortedFunc(maps.Values(missing), func(a, b Wanted) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace))
	})
	entries := make([]v1alpha1.DesiredMapping, 0, len(added))
	for _, w := range added {
		entries = append(entries, v1alpha1.DesiredMapping{Namespace: w.Namespace, RemoteNamespace: w.RemoteNamespace})
	}
	return entries
}

// FindDesired returns the entry of that local namespace, or nil.
func FindDesired(entries []v1alpha1.DesiredMapping, namespace string) *v1alpha1.DesiredMapping {
	return find(entries, func(e *v1alpha1.DesiredMapping) bool { return e.Namespace == namespace })
}

// FindCurrent returns the entry of that local namespace, or nil.
func FindCurrent(entries []v1alpha1.CurrentMapping, namespace string) *v1alpha1.CurrentMapping {
	return find(entries, func(e *v1alpha1.CurrentMapping) bool { return e.Namespace == namespace })
}

func find[E any](entries []E, is func(*E) bool) *E {
	for i := range entries {
		if is(&entries[i]) {
			return &entries[i]
		}
	}
	return nil
}

// Requested returns the local namespaces that a NamespaceMap asks for.
func Requested(nsm *v1alpha1.NamespaceMap) sets.Set[string] {
	namespaces := sets.New[string]()
	for i := range nsm.Spec.DesiredMapping {
		namespaces.Insert(nsm.Spec.DesiredMapping[i].Namespace)
	}
	return namespaces
}

// Namespaces returns the local namespaces that a NamespaceMap asks for or reports on.
func Namespaces(nsm *v1alpha1.NamespaceMap) sets.Set[string] {
	namespaces := Requested(nsm)
	for i := range nsm.Status.CurrentMapping {
		namespaces.Insert(nsm.Status.CurrentMapping[i].Namespace)
	}
	return namespaces
}

// Unreported reports whether the map asks for a remote namespace and its status does not report on it yet.
// The namespace may exist already. So the entry stays until the status reports on it, and nothing exists in
// the provider that the map does not know. A map that was never processed has created nothing.
func Unreported(nsm *v1alpha1.NamespaceMap, namespace string) bool {
	return nsm.Status.ObservedGeneration != 0 &&
		FindDesired(nsm.Spec.DesiredMapping, namespace) != nil && FindCurrent(nsm.Status.CurrentMapping, namespace) == nil
}

// FirstReported reports whether the status reports on a local namespace for the first time.
func FirstReported(before, after *v1alpha1.NamespaceMap) bool {
	was := sets.New[string]()
	for i := range before.Status.CurrentMapping {
		was.Insert(before.Status.CurrentMapping[i].Namespace)
	}
	return slices.ContainsFunc(after.Status.CurrentMapping, func(entry v1alpha1.CurrentMapping) bool { return !was.Has(entry.Namespace) })
}

// Changed returns the local namespaces whose entries differ between two versions of a NamespaceMap.
func Changed(before, after *v1alpha1.NamespaceMap) sets.Set[string] {
	type entry struct {
		desired, leaving string
		current          v1alpha1.CurrentMapping
	}
	index := func(nsm *v1alpha1.NamespaceMap) map[string]entry {
		entries := make(map[string]entry, len(nsm.Spec.DesiredMapping))
		for _, d := range nsm.Spec.DesiredMapping {
			entries[d.Namespace] = entry{desired: d.RemoteNamespace}
		}
		for _, c := range nsm.Status.CurrentMapping {
			e := entries[c.Namespace]
			e.current, e.current.Since = c, nil // Since changes only together with the other fields.
			entries[c.Namespace] = e
		}
		for _, l := range nsm.Status.LeavingPods {
			e := entries[l.Namespace]
			e.leaving = fmt.Sprint(ptr.Deref(l.Count, 0), l.Names, l.Refused)
			entries[l.Namespace] = e
		}
		return entries
	}
	was, is := index(before), index(after)
	changed := sets.New[string]()
	for namespace, e := range is {
		if was[namespace] != e {
			changed.Insert(namespace)
		}
	}
	for namespace := range was {
		if _, left := is[namespace]; !left {
			changed.Insert(namespace)
		}
	}
	return changed
}
