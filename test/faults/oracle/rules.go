package oracle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// userAgent is the manager's user agent. It appears in managedFields.
const userAgent = "spillway-manager"

// Violations returns a sentence for each broken rule, sorted.
func (h *History) Violations() []string {
	found := slices.Clone(h.Findings)
	found = append(found, h.finalPhases()...)
	found = append(found, h.onePlace()...)
	found = append(found, h.addresses()...)
	for _, provider := range h.providers() {
		events := h.timeline(provider)
		found = append(found, onePod(provider, events)...)
		found = append(found, h.foreign(provider, events)...)
		found = append(found, h.deletedForeign(provider, events)...)
		found = append(found, h.nameless(provider, events)...)
		found = append(found, h.inside(provider, events)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// finalPhases: a terminal phase never changes.
func (h *History) finalPhases() []string {
	var found []string
	final := map[types.UID]corev1.PodPhase{}
	for _, e := range h.timeline(Consumer) {
		if e.Object.GetKind() != "Pod" {
			continue
		}
		uid, now := e.Object.GetUID(), phase(e.Object)
		if was, ended := final[uid]; ended && now != was {
			found = append(found, fmt.Sprintf("%s has ended as %s, and is %s after that", title(e.Object), was, now))
		}
		if terminal(e.Object) {
			final[uid] = now
		}
	}
	return found
}

// addresses: a pod on a virtual node shows no address, because no binding is routed.
func (h *History) addresses() []string {
	var found []string
	for _, e := range h.timeline(Consumer) {
		node, _, _ := unstructured.NestedString(e.Object.Object, "spec", "nodeName")
		if e.Object.GetKind() != "Pod" || !strings.HasPrefix(node, v1alpha1.VirtualNodePrefix) {
			continue
		}
		for _, field := range []string{"podIP", "hostIP"} {
			if ip, _, _ := unstructured.NestedString(e.Object.Object, "status", field); ip != "" {
				found = append(found, fmt.Sprintf("%s shows the %s %s, which is what a provider says", title(e.Object), field, ip))
			}
		}
	}
	return found
}

// onePod: at most one remote pod exists for one local UID, running or terminating.
func onePod(provider string, events []Event) []string {
	var found []string
	alive := map[types.UID]sets.Set[types.UID]{}
	for _, e := range events {
		local := localUID(e.Object)
		if e.Object.GetKind() != "Pod" || local == "" {
			continue
		}
		if alive[local] == nil {
			alive[local] = sets.New[types.UID]()
		}
		if e.Deleted || terminal(e.Object) {
			alive[local].Delete(e.Object.GetUID())
			continue
		}
		if alive[local].Insert(e.Object.GetUID()).Len() > 1 {
			found = append(found, fmt.Sprintf("%s: %d pods stand for one local UID at a time, the last of them %s", provider, alive[local].Len(), title(e.Object)))
		}
	}
	return found
}

// onePlace: a local pod stays on one node, so only one provider ever has a remote pod for it. Two clusters
// have no common order of events, so the rule covers the whole run.
func (h *History) onePlace() []string {
	var found []string
	place := map[types.UID]string{}
	for _, provider := range h.providers() {
		for _, e := range h.timeline(provider) {
			local := localUID(e.Object)
			if e.Object.GetKind() != "Pod" || local == "" {
				continue
			}
			if at, known := place[local]; known && at != provider {
				found = append(found, fmt.Sprintf("%s stands for a local UID in %s, and one did in %s", title(e.Object), provider, at))
			}
			place[local] = provider
		}
	}
	return found
}

// foreign: the manager neither changes an object that never had its mark, nor creates one without it. An
// object that once had the mark stays the manager's, even after somebody removes the mark.
func (h *History) foreign(provider string, events []Event) []string {
	var found []string
	everMarked, written := sets.New[types.UID](), map[types.UID]string{}
	for _, e := range events {
		uid := e.Object.GetUID()
		before, known := written[uid]
		now := writtenByUs(e.Object)
		switch {
		case everMarked.Has(uid), e.Before:
		case !known && now != "" && !h.marked(e.Object):
			found = append(found, fmt.Sprintf("%s: %s was made without our mark", provider, title(e.Object)))
		case known && now != before:
			found = append(found, fmt.Sprintf("%s: %s, which is not ours, was changed by us", provider, title(e.Object)))
		}
		written[uid] = now
		if h.marked(e.Object) {
			everMarked.Insert(uid)
		}
	}
	return found
}

// writtenByUs returns what managedFields say of the manager's writes to an object; "" if there was none.
func writtenByUs(obj *unstructured.Unstructured) string {
	var all strings.Builder
	for _, entry := range obj.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, userAgent) {
			fmt.Fprintf(&all, "%s %s %v %v;", entry.Operation, entry.Subresource, entry.Time, entry.FieldsV1)
		}
	}
	return all.String()
}

// deletedForeign: the manager deletes no object that never had its mark.
func (h *History) deletedForeign(provider string, events []Event) []string {
	last, ours := map[types.UID]Event{}, sets.New[types.UID]()
	for _, e := range events {
		last[e.Object.GetUID()] = e
		if h.marked(e.Object) {
			ours.Insert(e.Object.GetUID())
		}
	}
	var found []string
	for _, uid := range h.Deleted[provider] {
		if e, known := last[uid]; known && !ours.Has(uid) {
			found = append(found, fmt.Sprintf("%s: %s, which is not ours, was deleted by us", provider, title(e.Object)))
		}
	}
	return found
}

// nameless: what the manager creates names the local object that it represents. Namespaces are exempt: the
// mount namespace represents none.
func (h *History) nameless(provider string, events []Event) []string {
	var found []string
	seen := sets.New[types.UID]()
	for _, e := range events {
		first := !seen.Has(e.Object.GetUID())
		seen.Insert(e.Object.GetUID())
		if first && !e.Before && !isNamespace(e.Object) && writtenByUs(e.Object) != "" && localUID(e.Object) == "" {
			found = append(found, fmt.Sprintf("%s: %s was made without the UID of what it stands for", provider, title(e.Object)))
		}
	}
	return found
}

// inside: the manager creates objects, Secrets above all, only in namespaces with its mark.
func (h *History) inside(provider string, events []Event) []string {
	var found []string
	marked := map[string]bool{}
	seen := sets.New[types.UID]()
	for _, e := range events {
		obj := e.Object
		if isNamespace(obj) {
			marked[obj.GetName()] = !e.Deleted && (h.marked(obj) || marked[obj.GetName()] && seen.Has(obj.GetUID()))
		} else if !seen.Has(obj.GetUID()) && !e.Before && obj.GetNamespace() != "" && writtenByUs(obj) != "" && !marked[obj.GetNamespace()] {
			found = append(found, fmt.Sprintf("%s: %s landed in a namespace that is not ours", provider, title(obj)))
		}
		seen.Insert(obj.GetUID())
	}
	return found
}
