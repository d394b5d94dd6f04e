package quota

import (
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// Use is how much of spec.quota of a binding the pods on its virtual nodes use, also those that wait for room. It is not
// safe for concurrent use.
type Use struct{ sums }

// UseOf adds up pods. labels returns the labels of a namespace.
func UseOf(binding *v1alpha1.ClusterBinding, pods []Pod, labels Labels) *Use {
	u := &Use{newSums(Entries(binding), labels)}
	for i := range pods {
		if !pods[i].Ended {
			u.add(&pods[i], 1)
		}
	}
	u.labels = nil // They are from the call.
	return u
}

// Left returns how much pods of a namespace may still request in the provider, of each resource that the quotas limit for
// them, and how much of it is left besides other pods.
func (u *Use) Left(namespace string, besides []Pod, labels Labels) (left, rest Amounts) {
	now := newSums(u.entries, labels)
	left = u.under(&now, namespace)
	for i := range besides {
		if !besides[i].Ended {
			now.add(&besides[i], 1)
		}
	}
	return left, u.under(&now, namespace)
}

// under returns what is left to a namespace if more is used as well.
func (u *Use) under(more *sums, namespace string) Amounts {
	left := Amounts{}
	for _, i := range more.of(namespace) {
		for name, hard := range u.entries[i].hard {
			rest := max(0, hard-u.used[i][name]-more.used[i][name])
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
