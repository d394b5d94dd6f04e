package spill

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKarmada plays the same demands by the decisions of this package, and by the rules that Karmada 1.18 documents for
// overflowAffinities. The tiers must fill and empty in the same order. If no tier has room for the last pods, Karmada
// documents that the whole scheduling fails. Here, those pods wait, and the others run.
func TestKarmada(t *testing.T) {
	rooms := []int{4, 9, 9}
	demands := []int{3, 10, 18, 11, 6, 22, 5, 30, 0}
	for n := range 23 { // One by one, up and down.
		demands = append(demands, n)
	}
	for n := 22; n >= 0; n-- {
		demands = append(demands, n)
	}
	here, there := &demand{now: start, rooms: rooms}, make([]int, len(rooms))
	for _, n := range demands {
		here.ask(n)
		there = karmada(rooms, there, n)
		want := there
		if n == 30 {
			if diff := cmp.Diff([]int{4, 1, 0}, there); diff != "" {
				t.Errorf("Karmada leaves what it has (-want +got):\n%s", diff)
			}
			want = rooms
		}
		if diff := cmp.Diff(want, here.in()); diff != "" {
			t.Errorf("%d pods (-Karmada +here):\n%s", n, diff)
		}
	}
}

// karmada assigns the replicas of a workload to its affinity groups: as many as possible to each group, in order. If some
// are left, the scheduling fails, and the assignment of before stays. With fewer replicas, the last group shrinks first.
func karmada(rooms, before []int, replicas int) []int {
	assigned := make([]int, len(rooms))
	for group, room := range rooms {
		assigned[group] = min(replicas, room)
		replicas -= assigned[group]
	}
	if replicas > 0 {
		return before
	}
	return assigned
}

// demand plays a ReplicaSet, a scheduler and the manager.
type demand struct {
	now   time.Time
	rooms []int
	pods  []*asking
}

// asking is a pod. It may use the tiers up to last, and is in one of them, or in none: -1.
type asking struct {
	Waiting
	last, tier int
}

func (d *demand) in() []int {
	in := make([]int, len(d.rooms))
	for _, pod := range d.pods {
		if pod.tier >= 0 {
			in[pod.tier]++
		}
	}
	return in
}

// ask creates or deletes pods, and goes on until each has a node or fits in no tier.
func (d *demand) ask(n int) {
	slices.SortStableFunc(d.pods, func(a, b *asking) int { // As a ReplicaSet ranks them: what runs and is dear stays.
		return slices.Compare([]int{min(b.tier, 0), DeletionCost(b.tier)}, []int{min(a.tier, 0), DeletionCost(a.tier)})
	})
	d.pods = d.pods[:min(n, len(d.pods))]
	for len(d.pods) < n {
		d.pods = append(d.pods, &asking{last: First(three), tier: -1})
	}
	for waits := true; waits; d.now = d.now.Add(time.Second) {
		waits = false
		for _, pod := range d.pods {
			waits = d.try(pod) || waits
		}
	}
}

// try lets the scheduler try a pod, and then the manager. It reports whether the pod still waits for a tier.
func (d *demand) try(pod *asking) bool {
	for tier := pod.last; tier >= 0 && pod.tier < 0; tier-- { // The scheduler knows no order: it takes the last tier with room.
		if d.in()[tier] < d.rooms[tier] {
			pod.tier = tier
		}
	}
	if pod.tier >= 0 {
		return false
	}
	if pod.Since.IsZero() {
		pod.Since = d.now
	}
	pod.Seen, pod.Tolerates = true, tolerating(Open(three, pod.last)...)
	next := Next(three, pod.Waiting, d.now)
	if next.Opens {
		pod.last, pod.Opened = next.Tier, pod.Opened.With(next.Tier, d.now)
	}
	return !next.FitsNone
}
