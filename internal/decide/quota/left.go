package quota

import (
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// Left returns how much pods of a namespace may still request in a provider, of each resource that spec.quota of its binding
// limits for them. All pods on the virtual nodes count, also those that wait for room.
func Left(binding *v1alpha1.ClusterBinding, pods []Pod, labels Labels, namespace string) Amounts {
	s := newSums(Entries(binding), labels)
	for i := range pods {
		if !pods[i].Ended {
			s.add(&pods[i], 1)
		}
	}
	left := Amounts{}
	for _, i := range s.of(namespace) {
		for name, hard := range s.entries[i].hard {
			rest := max(0, hard-s.used[i][name])
			if before, known := left[name]; known {
				rest = min(before, rest)
			}
			left[name] = rest
		}
	}
	return left
}

// Within returns the part of what is free that the quota leaves to any of the pods. What is free says nothing about limits:
// if the quota leaves too little of them to one of the pods, nothing is free.
func (a Amounts) Within(free spill.Size, pods []Pod) spill.Size {
	for name, rest := range a {
		for i := range pods {
			if strings.HasPrefix(string(name), limits) && pods[i].Size[name] > rest {
				return nil
			}
		}
	}
	var within spill.Size
	for _, amount := range free {
		if rest, limited := a[amount.Name]; limited {
			amount.Value = min(amount.Value, rest)
		}
		if amount.Value > 0 {
			within = append(within, amount)
		}
	}
	return within
}
