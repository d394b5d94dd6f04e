// Package spill decides, without any I/O, how the pods of a namespace spill over to the next tier of providers,
// and how they come back.
//
// A tier is an entry of spec.overflow of a NamespaceOffloading. A new pod may use the first tier only. Next opens
// the next tier for a pod once the scheduler has reported long enough that the open ones have no room.
//
// GivesUp is for a pod that its provider refuses or cannot place, and Full keeps its successors away for a while. Growth is
// about a provider that may start a node for the pod.
// Return chooses the pod that moves to an earlier tier, which has had room for it for a while.
//
// Every decision reads what it needs from the objects, or from a memory that may be lost at any time. Losing it
// makes pods wait longer, or try a full provider once more. It never breaks the order.
package spill

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Tier is one step of the order in which pods use nodes.
type Tier struct {
	// Local: the tier has the consumer's own nodes. Only the first tier can be local.
	Local bool
	// Clusters are the clusterIDs of its providers, sorted. No other tier has them.
	Clusters []string
	// After is how long the scheduler must have found no room in the tiers before, until this one opens.
	After time.Duration
}

// Empty reports whether the tier has no nodes. An empty tier is skipped without a wait.
func (t Tier) Empty() bool { return !t.Local && len(t.Clusters) == 0 }

// First returns the index of the first tier that new pods may use: the first that is not empty. It is 0 if all
// are empty.
func First(tiers []Tier) int {
	return max(0, slices.IndexFunc(tiers, func(t Tier) bool { return !t.Empty() }))
}

// Only returns the tiers with those of their providers that are in ids.
func Only(tiers []Tier, ids []string) []Tier {
	only := slices.Clone(tiers)
	for i := range only {
		only[i].Clusters = slices.DeleteFunc(slices.Clone(only[i].Clusters), func(id string) bool { return !slices.Contains(ids, id) })
	}
	return only
}

// Of returns the index of the tier with that provider, or -1.
func Of(tiers []Tier, clusterID string) int {
	return slices.IndexFunc(tiers, func(t Tier) bool { return slices.Contains(t.Clusters, clusterID) })
}

// Open returns the providers of the tiers up to and including last.
func Open(tiers []Tier, last int) []string {
	var ids []string
	for i := range min(last+1, len(tiers)) {
		ids = append(ids, tiers[i].Clusters...)
	}
	return ids
}

// costOfTier is the difference in deletion cost between a tier and the next.
const costOfTier = 100

// DeletionCost returns the value of controller.kubernetes.io/pod-deletion-cost for a pod in a tier. ReplicaSets
// delete pods with a lower cost first.
func DeletionCost(tier int) int { return -costOfTier * tier }

// Size is what a pod requests, or what is free: sorted by name, without zeros.
type Size []Amount

// Amount is an amount of one resource, in its smallest unit.
type Amount struct {
	Name  corev1.ResourceName
	Value int64
}

func (s Size) of(name corev1.ResourceName) int64 {
	for _, a := range s {
		if a.Name == name {
			return a.Value
		}
	}
	return 0
}

// Covers reports whether s has at least as much of each resource as other.
func (s Size) Covers(other Size) bool {
	return !slices.ContainsFunc(other, func(a Amount) bool { return s.of(a.Name) < a.Value })
}

// least returns the smaller amount of each resource.
func (s Size) least(other Size) Size {
	var least Size
	for _, a := range s {
		if a.Value = min(a.Value, other.of(a.Name)); a.Value > 0 {
			least = append(least, a)
		}
	}
	return least
}
