package quota

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Status returns what the status of a binding says about spec.quota. pods are those on its virtual nodes, and labels
// returns the labels of a namespace.
func Status(binding *v1alpha1.ClusterBinding, pods []Pod, labels Labels) []v1alpha1.QuotaStatus {
	entries := Entries(binding)
	book := &Book{Labels: labels}
	book.Set(entries, func() []Pod { return pods })
	var all []v1alpha1.QuotaStatus
	for i := range entries {
		q := &binding.Spec.Quota[i]
		status := v1alpha1.QuotaStatus{Name: q.Name, Hard: maps.Clone(q.Hard), Used: corev1.ResourceList{}}
		for _, name := range slices.Sorted(maps.Keys(q.Hard)) {
			plain := Plain(name)
			status.Used[name] = book.sums.used[i].Quantity(plain)
			if used := status.Used[name]; used.Cmp(q.Hard[name]) > 0 {
				status.Over = append(status.Over, string(name))
			}
		}
		all = append(all, status)
	}
	slices.SortFunc(all, func(a, b v1alpha1.QuotaStatus) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Same reports whether two statuses say the same. Quantities may be written differently.
func Same(a, b []v1alpha1.QuotaStatus) bool {
	return slices.EqualFunc(a, b, func(a, b v1alpha1.QuotaStatus) bool {
		return a.Name == b.Name && slices.Equal(a.Over, b.Over) && sameList(a.Hard, b.Hard) && sameList(a.Used, b.Used)
	})
}

func sameList(a, b corev1.ResourceList) bool {
	return len(a) == len(b) && maps.EqualFunc(a, b, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
}

// Describe says how much of a quota is used: team-a: 9 of 10 cpu, 3 of 20 pods.
func Describe(q *v1alpha1.QuotaStatus) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q.Hard)) {
		used, hard := q.Used[name], q.Hard[name]
		part := used.String() + " of " + hard.String() + " " + string(name)
		if slices.Contains(q.Over, string(name)) {
			part += " (over)"
		}
		parts = append(parts, part)
	}
	return q.Name + ": " + strings.Join(parts, ", ")
}

// Unchanged reports whether two messages of Shortage are about the same quota and the same request. Then the older one
// stays: each new number would take a write for each pod that waits.
func Unchanged(before, after string) bool {
	a, rest1, found1 := strings.Cut(before, numbers)
	b, rest2, found2 := strings.Cut(after, numbers)
	return found1 && found2 && a == b && hardOf(rest1) == hardOf(rest2)
}

// hardOf returns what follows the used amount.
func hardOf(rest string) string {
	_, hard, _ := strings.Cut(rest, " of ")
	hard, _, _ = strings.Cut(hard, ";")
	return hard
}
