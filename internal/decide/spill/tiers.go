package spill

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// Overlap is a provider that a tier selects, and that an earlier one has.
type Overlap struct {
	ClusterID   string
	Tier, Later int
}

// Resolve returns the tiers of an offloading, and the providers that several of them select. bindings are those that
// the offloading selects, sorted by clusterID. An invalid selector selects nothing.
func Resolve(spec *v1alpha1.NamespaceOffloadingSpec, bindings []*v1alpha1.ClusterBinding) ([]Tier, []Overlap) {
	var tiers []Tier
	var overlaps []Overlap
	for i := range spec.Overflow {
		step := &spec.Overflow[i]
		tier := Tier{Local: step.Local, After: DefaultAfter}
		if step.After != nil {
			tier.After = step.After.Duration
		}
		for _, binding := range bindings {
			if selected, err := placement.Selects(step.Selector(), binding); tier.Local || !selected || err != nil {
				continue
			}
			id := binding.Spec.ClusterID
			if earlier := Of(tiers, id); earlier >= 0 {
				if step.Selector() != nil { // Without terms, it is for all that are left.
					overlaps = append(overlaps, Overlap{id, earlier, i})
				}
				continue
			}
			tier.Clusters = append(tier.Clusters, id)
		}
		tiers = append(tiers, tier)
	}
	return tiers, overlaps
}

// TierOf returns the tier of a provider, or -1. It needs no other provider: a provider belongs to the first tier
// that selects it.
func TierOf(spec *v1alpha1.NamespaceOffloadingSpec, binding *v1alpha1.ClusterBinding) int {
	return slices.IndexFunc(spec.Overflow, func(step v1alpha1.OverflowTier) bool {
		selected, err := placement.Selects(step.Selector(), binding)
		return !step.Local && selected && err == nil
	})
}
