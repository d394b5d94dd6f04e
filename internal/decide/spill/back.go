package spill

import (
	"cmp"
	"slices"
	"time"
)

// Resident is a pod that is on the virtual node of a provider.
type Resident struct {
	Tier int
	Size Size
	// Movable reports that its controller creates another pod, which can start anywhere.
	Movable bool
	// Retry is how long the pod is left alone, because the API server has refused to evict it; 0: it is not.
	Retry time.Duration
	// Started is when it got to its node.
	Started time.Time
}

// Back says how pods come back to earlier tiers.
type Back struct {
	// First is the first tier that is not empty.
	First int
	// After is how long there must have been room, before anything has failed.
	After time.Duration
	// PerMinute is how many pods move in a minute, at most.
	PerMinute int32
	// Last is the last return.
	Last Returned
	// Waiting is how many pods of the namespace wait for a node. They go first.
	Waiting int
	// Room returns how long it takes until a tier has had room for the pod with that index for long enough; 0: it
	// has; negative: it has no room now.
	Room func(tier, pod int) time.Duration
}

// Move is which pod returns now, or why none does.
type Move struct {
	// Pod is the index of the pod to evict, so that its successor starts in the tier To; -1: none.
	Pod, To int
	Why     Hindrance
	// Wait is how long until the next decision if nothing changes before; 0: never.
	Wait time.Duration
}

// Hindrance is why no pod returns now.
type Hindrance int

const (
	// Returns: a pod returns.
	Returns Hindrance = iota
	// InPlace: no pod is in a later tier than the first that is not empty.
	InPlace
	// Fixed: no pod in a later tier is movable.
	Fixed
	// Others: pods of the namespace wait for a node.
	Others
	// NoRoom: no earlier tier has room.
	NoRoom
	// TooNew: an earlier tier has had room, but not for long enough.
	TooNew
	// Refused: the API server has refused to evict the pods that could move.
	Refused
	// Paced: another pod has just moved.
	Paced
	// Failed: the last return has failed, so the next one waits.
	Failed
)

// Return decides which pod to evict, so that its successor starts in an earlier tier. The last tier goes first and,
// in a tier, the pod that came last.
func Return(pods []Resident, back Back, now time.Time) Move {
	m := Move{Pod: -1, Why: InPlace}
	later := back.later(pods)
	for _, i := range later {
		if m.Why = Fixed; pods[i].Movable {
			m.Why = NoRoom
			break
		}
	}
	switch {
	case m.Why != NoRoom:
		return m
	case back.Waiting > 0:
		m.Why = Others
		return m
	}
	m = back.choose(pods, later)
	if wait := back.pause(now); m.Why == Returns && wait > 0 {
		m = Move{Pod: -1, Why: Paced, Wait: wait}
		if back.Last.Failed {
			m.Why = Failed
		}
	}
	return m
}

// later returns the indexes of the pods in later tiers, in the order in which they return.
func (b Back) later(pods []Resident) []int {
	var later []int
	for i := range pods {
		if pods[i].Tier > b.First {
			later = append(later, i)
		}
	}
	slices.SortStableFunc(later, func(i, j int) int {
		return cmp.Or(cmp.Compare(pods[j].Tier, pods[i].Tier), pods[j].Started.Compare(pods[i].Started))
	})
	return later
}

// choose returns the first pod for which there is room.
func (b Back) choose(pods []Resident, order []int) Move {
	m := Move{Pod: -1, Why: NoRoom}
	hindered := func(why Hindrance, wait time.Duration) {
		m.Why = max(m.Why, why)
		m.Wait = cmp.Or(min(cmp.Or(m.Wait, wait), wait), wait)
	}
	for _, i := range order {
		if !pods[i].Movable {
			continue
		}
		for tier := b.First; tier < pods[i].Tier; tier++ {
			switch wait := b.Room(tier, i); {
			case wait < 0:
			case wait > 0:
				hindered(TooNew, wait)
			case pods[i].Retry > 0:
				hindered(Refused, pods[i].Retry)
			default:
				return Move{Pod: i, To: tier, Why: Returns}
			}
		}
	}
	return m
}

// pause returns how long the next return must wait because of the last one.
func (b Back) pause(now time.Time) time.Duration {
	if b.Last.At.IsZero() {
		return 0
	}
	pause := time.Minute / time.Duration(max(1, b.PerMinute))
	if b.Last.Failed {
		pause = max(pause, b.Last.Patience(b.After))
	}
	return max(0, remaining(b.Last.At, pause, now))
}

// mostDoublings is how often the time for which there must have been room is doubled.
const mostDoublings = 4

// Returned is the last return. It is in the status of the NamespaceOffloading.
type Returned struct {
	// At is when the pod was evicted, and From is the tier in which it was.
	At   time.Time
	From int
	// Failed reports that the tier was opened again soon after.
	Failed bool
	// Failures is one more for each return that failed, and one less for each that did not.
	Failures int32
}

// Patience returns how long there must have been room, after returns that failed.
func (r Returned) Patience(after time.Duration) time.Duration {
	return after << min(max(0, r.Failures), mostDoublings)
}

// Next notes that a pod returns.
func (r Returned) Next(from int, now time.Time) Returned {
	if !r.Failed {
		r.Failures = max(0, r.Failures-1)
	}
	r.At, r.From, r.Failed = now, from, false
	return r
}

// Observe notes that the last return has failed, if a pod of the namespace has opened the tier again. Its successor
// is not known: another pod may have taken its room.
func (r Returned) Observe(opened []Opened, tiers []Tier, after time.Duration) Returned {
	if r.At.IsZero() || r.Failed {
		return r
	}
	end := r.At.Add(after)
	for _, tier := range tiers[:min(r.From+1, len(tiers))] {
		end = end.Add(tier.After + Unseen)
	}
	for _, pod := range opened {
		if slices.ContainsFunc(pod, func(o Opening) bool { return o.Tier >= r.From && o.At.After(r.At) && !o.At.After(end) }) {
			r.Failed, r.Failures = true, min(r.Failures+1, mostDoublings)
			return r
		}
	}
	return r
}
