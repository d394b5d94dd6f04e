package mapping

import "github.com/spillway-io/spillway/internal/decide/spill"

// Tier returns which tier of a local namespace the provider of a Mapping is. It is 0 for the first tier, and without
// spec.overflow.
func Tier(m *Mapping, namespace string) int {
	if m.Offloading == nil {
		return 0
	}
	nso := m.Offloading(namespace)
	if nso == nil || len(nso.Spec.Overflow) == 0 {
		return 0
	}
	return max(0, spill.TierOf(&nso.Spec, m.binding))
}
