package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// State maps "cluster kind namespace/name" to the normalised object in YAML.
type State map[string]string

// live returns the lane's objects that exist at the end of the history.
func (h *History) live() []Event {
	var found []Event
	for _, cluster := range append([]string{Consumer}, h.providers()...) {
		last := map[types.UID]Event{}
		var order []types.UID
		for _, e := range h.timeline(cluster) {
			uid := e.Object.GetUID()
			if _, known := last[uid]; !known {
				order = append(order, uid)
			}
			last[uid] = e
		}
		for _, uid := range order {
			if !last[uid].Deleted {
				found = append(found, last[uid])
			}
		}
	}
	return found
}

// isState reports whether an object is compared. Of the consumer's nodes, only virtual ones are. Objects that
// identify a cluster are not.
func isState(e Event) bool {
	switch e.Object.GetKind() {
	case "Namespace":
		return !systemNamespace(e.Object.GetName())
	case "Node":
		return e.Object.GetLabels()[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual
	default:
		return true
	}
}

// State returns all objects at the end of the history.
func (h *History) State() (State, error) {
	m := newMasks(h)
	state := State{}
	var errs []error
	for _, e := range h.live() {
		if !isState(e) {
			continue
		}
		text, err := m.normalise(e.Object)
		errs = append(errs, err)
		state[m.text(fmt.Sprintf("%s %s %s", e.Cluster, e.Object.GetKind(), location(e.Object)))] = text
	}
	return state, errors.Join(errs...)
}

// Counts returns the numbers of existing objects by "cluster kind", and of all that were created during the
// run by "cluster kind ever".
func (h *History) Counts() map[string]int {
	counts := map[string]int{}
	for _, e := range h.live() {
		if isState(e) {
			counts[e.Cluster+" "+e.Object.GetKind()]++
		}
	}
	for _, cluster := range append([]string{Consumer}, h.providers()...) {
		seen := sets.New[types.UID]()
		for _, e := range h.timeline(cluster) {
			if !seen.Has(e.Object.GetUID()) && !e.Before && isState(e) {
				counts[cluster+" "+e.Object.GetKind()+" ever"]++
			}
			seen.Insert(e.Object.GetUID())
		}
	}
	return counts
}

// Diff returns how two States differ, object by object; "" if they do not.
func Diff(want, got State) string {
	var all strings.Builder
	keys := sets.KeySet(want).Union(sets.KeySet(got))
	for _, key := range sets.List(keys) {
		wanted, isWanted := want[key]
		there, isThere := got[key]
		switch {
		case !isThere:
			fmt.Fprintf(&all, "%s is missing\n", key)
		case !isWanted:
			fmt.Fprintf(&all, "%s should not be there:\n%s", key, indent(there))
		case wanted != there:
			fmt.Fprintf(&all, "%s differs (-want +got):\n%s", key, indent(lines(wanted, there)))
		}
	}
	return all.String()
}

// lines returns the lines that differ, with some context.
func lines(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}

// DiffCounts returns how two Counts differ; "" if they do not.
func DiffCounts(want, got map[string]int) string {
	var all strings.Builder
	keys := slices.Sorted(maps.Keys(sets.KeySet(want).Union(sets.KeySet(got))))
	for _, key := range keys {
		if want[key] != got[key] {
			fmt.Fprintf(&all, "%s: %d, want %d\n", key, got[key], want[key])
		}
	}
	return all.String()
}
