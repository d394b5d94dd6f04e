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
	// Behind reports that a return of a pod of this controller has failed. Its pods go last.
	Behind bool
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
	// Waiting is how many pods of the namespace wait for a node, or are given up soon. They go first.
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
	// Others: pods of the namespace wait for a node, or are given up soon.
	Others
	// NoRoom: no earlier tier has room.
	NoRoom
	// TooNew: an earlier tier has had room, but not for long enough.
	TooNew
	// Refused: the API server has refused to evict the pods that could move.
	Refused
	// Paced: another pod has just moved.
	Paced
	// Starting: the successor of the last pod is not Ready yet.
	Starting
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
	if why, wait := back.pause(now); m.Why == Returns && wait > 0 {
		return Move{Pod: -1, Why: why, Wait: wait}
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
		if pods[i].Behind != pods[j].Behind {
			return map[bool]int{true: 1, false: -1}[pods[i].Behind]
		}
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

// pause returns how long the next return must wait because of the last one, and why.
func (b Back) pause(now time.Time) (why Hindrance, wait time.Duration) {
	switch {
	case b.Last.At.IsZero():
		return Returns, 0
	case b.Last.Failed:
		return Failed, max(0, remaining(b.Last.At, b.Last.Patience(b.After), now))
	case !b.Last.Settled:
		return Starting, recheck
	}
	return Paced, max(0, remaining(b.Last.At, time.Minute/time.Duration(max(1, b.PerMinute)), now))
}

const (
	// mostDoublings is how often the time for which there must have been room is doubled.
	mostDoublings = 4
	// startup is how long a successor may take to become Ready, once it has a node.
	startup = 5 * time.Minute
	// recheck is how often it is looked at meanwhile. Nothing tells when it becomes Ready.
	recheck = 10 * time.Second
)

// Returned is the last return. It is in the status of the NamespaceOffloading, without Settled.
type Returned struct {
	// At is when the pod was evicted, and From is the tier in which it was.
	At   time.Time
	From int
	// Pod is its name, and Owner is the UID of its ReplicaSet.
	Pod, Owner string
	// Settled reports that its successor has become Ready in an earlier tier.
	Settled bool
	// Failed reports that the tier was opened again soon after, or that the successor did not become Ready.
	Failed bool
	// Failures is one more for each return that failed, and one less for each that did not.
	Failures int32
}

// Successor is a pod of the same ReplicaSet that was created after the return, and has a node.
type Successor struct {
	Tier  int
	Ready bool
}

// Patience returns how long there must have been room, after returns that failed.
func (r Returned) Patience(after time.Duration) time.Duration {
	return after << min(max(0, r.Failures), mostDoublings)
}

// Follows reports whether a pod that was created at that time came after the return. A time in the future is from before
// the clock was set back. Pods have full seconds.
func (r Returned) Follows(created, now time.Time) bool {
	return created.Unix() >= r.At.Unix() && !created.After(now)
}

// Next notes that a pod returns.
func (r Returned) Next(from int, pod, owner string, now time.Time) Returned {
	if !r.Failed {
		r.Failures = max(0, r.Failures-1)
	}
	return Returned{At: now, From: from, Pod: pod, Owner: owner, Failures: r.Failures}
}

// Restored completes what a manager that starts reads from the status. What became of a successor that had its time
// before is not known.
func (r Returned) Restored(tiers []Tier, now time.Time) Returned {
	r.Settled = r.Settled || !now.Before(r.At.Add(r.time(tiers)))
	return r
}

// time is how long the successor may take to become Ready, also if it has to open all tiers up to the one that the
// pod has left.
func (r Returned) time(tiers []Tier) time.Duration {
	most := startup
	for _, tier := range tiers[:min(r.From+1, len(tiers))] {
		most += tier.After + Unseen
	}
	return most
}

// Observe notes what became of the last return. It has failed if a pod of the namespace has opened the tier again,
// or a pod of the ReplicaSet is there again: another pod may have taken the room of the successor. Pods have full seconds,
// so a tier that was opened in the second of the return counts, too.
func (r Returned) Observe(opened []Opened, successors []Successor, tiers []Tier, after time.Duration, now time.Time) Returned {
	if r.At.IsZero() || r.Failed {
		return r
	}
	end := r.At.Add(after + r.time(tiers))
	failed := slices.ContainsFunc(opened, func(pod Opened) bool {
		return slices.ContainsFunc(pod, func(o Opening) bool { return o.Tier >= r.From && o.At.Unix() >= r.At.Unix() && !o.At.After(end) })
	})
	for _, s := range successors {
		failed = failed || s.Tier >= r.From && !now.After(end)
		r.Settled = r.Settled || s.Ready && s.Tier < r.From
	}
	if failed || !r.Settled && remaining(r.At, r.time(tiers), now) <= 0 {
		r.Failed, r.Failures = true, min(r.Failures+1, mostDoublings)
	}
	return r
}
