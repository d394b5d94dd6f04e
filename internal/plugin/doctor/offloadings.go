package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// offloadings looks for namespaces that stay as they are until somebody changes something, such as one whose selector selects
// no provider. What is wrong in one provider, the check of that binding says.
func (e *exam) offloadings() {
	if e.seen.Hides(status.Offloadings) {
		return // The check strays says so.
	}
	fine := true
	for i := range e.seen.Offloadings {
		if f := ofOffloading(&e.seen.Offloadings[i], e.seen.Bindings, e.seen.Hides(status.Bindings)); f != nil {
			fine = false
			e.found(*f)
		}
	}
	if fine {
		e.found(Finding{Level: OK, Check: "offloading", Message: "each NamespaceOffloading has a provider, or waits for one that is selected"})
	}
}

func ofOffloading(offloading *v1alpha1.NamespaceOffloading, bindings []v1alpha1.ClusterBinding, hidden bool) *Finding {
	state := status.StateOf(offloading)
	if !state.Stuck {
		return nil
	}
	f := &Finding{Level: Error, Check: "offloading", Object: offloading.Namespace, Message: state.String(), Mend: "docs/troubleshooting.md, reason " + string(offloading.Status.OffloadingPhase)}
	if offloading.Status.OffloadingPhase == v1alpha1.OffloadingPhaseNoClusterSelected {
		f.Mend = "kubectl spillway offload " + offloading.Namespace + " --selector or --clusters corrects the selector"
		if len(offloading.Spec.Overflow) > 0 {
			f.Mend = "correct clusterSelector of the tiers in spec.overflow of its NamespaceOffloading"
		}
		if !hidden {
			f.Mend += offers(offloading.Spec.Selector(), bindings)
		}
	}
	return f
}

// offers says which values the bindings have of the labels that a selector asks for.
func offers(selector *v1alpha1.ClusterSelector, bindings []v1alpha1.ClusterBinding) string {
	if selector == nil {
		return ""
	}
	var all []string
	asked := map[string]bool{}
	for _, term := range selector.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			asked[expression.Key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		values := map[string]bool{}
		for i := range bindings {
			if value, has := placement.NodeLabels(&bindings[i])[key]; has {
				values[value] = true
			}
		}
		said := "no binding has " + key
		if len(values) > 0 {
			said = "of " + key + ", the bindings have " + text.Few(slices.Sorted(maps.Keys(values)), shown)
		}
		all = append(all, said)
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, "; ")
}
