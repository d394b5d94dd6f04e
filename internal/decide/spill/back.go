package spill

import "time"

// Resident is a pod that runs on a node.
type Resident struct {
	Tier int
	Size Size
	// Movable reports that its controller creates another pod, and that it has no bound claims.
	Movable bool
	// Started is when it got to its node.
	Started time.Time
}

// Back says how pods come back to earlier tiers.
type Back struct {
	// PerMinute is how many pods move in a minute, at most.
	PerMinute int32
	// Last is when a pod was moved last.
	Last time.Time
	// Waiting is how many pods of the namespace wait for a node. They go first.
	Waiting int
	// Room reports whether a tier has had room for a pod of that size for long enough.
	Room func(tier int, size Size) bool
}

// Return returns the index of the pod to evict, so that its successor starts in an earlier tier; -1: none. The last
// tier goes first and, in a tier, the pod that came last. If another pod moved just before, wait is how long until
// the next decision; 0: until something changes.
func Return(pods []Resident, back Back, now time.Time) (evict int, wait time.Duration) {
	evict = -1
	if back.Waiting > 0 || back.PerMinute <= 0 {
		return evict, 0
	}
	for i, p := range pods {
		if !p.Movable || evict >= 0 && !goesBefore(p, pods[evict]) {
			continue
		}
		for tier := range p.Tier {
			if back.Room(tier, p.Size) {
				evict = i
				break
			}
		}
	}
	if evict < 0 || back.Last.IsZero() {
		return evict, 0
	}
	if wait := time.Minute/time.Duration(back.PerMinute) - now.Sub(back.Last); wait > 0 {
		return -1, wait
	}
	return evict, 0
}

func goesBefore(a, b Resident) bool {
	return a.Tier > b.Tier || a.Tier == b.Tier && a.Started.After(b.Started)
}

// parts is in how many parts Room divides the time that it looks back.
const parts = 8

// Room remembers how much of a tier has been free all the time during the last After. Its times must come from a
// clock that is never set back. It takes the same memory however often Observe is called.
type Room struct {
	After time.Duration

	// least has what was free at least in each of the latest parts, and latest what is free now.
	least  [parts + 1]Size
	latest Size
	// part is the number of the part that lasts now, counted from begun, when observing began.
	part  int64
	begun time.Time
}

// Observe notes what the largest pod could request now. Call it on each change.
func (r *Room) Observe(free Size, now time.Time) {
	if r.begun.IsZero() {
		r.begun, r.latest = now, free
		r.least[0] = free
		return
	}
	r.advance(now)
	r.latest = free
	at := &r.least[r.part%(parts+1)]
	*at = at.least(free)
}

// advance begins the parts up to now. Nothing has changed in them.
func (r *Room) advance(now time.Time) {
	part := int64(now.Sub(r.begun) / max(r.After/parts, 1))
	for i := max(r.part+1, part-parts); i <= part; i++ {
		r.least[i%(parts+1)] = r.latest
	}
	r.part = max(part, r.part)
}

// Has reports whether there has been room for a pod of that size for After.
func (r *Room) Has(size Size, now time.Time) bool {
	if r.begun.IsZero() || now.Sub(r.begun) < r.After {
		return false
	}
	r.advance(now)
	for _, free := range r.least {
		if !free.Covers(size) {
			return false
		}
	}
	return true
}
