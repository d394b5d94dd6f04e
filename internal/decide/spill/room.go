package spill

import "time"

// Rooms remembers how much has been free in each place of a namespace's tiers. A place is a provider, or a node of
// the consumer. Its zero value is empty. Its times must come from a clock that is never set back. It is a memory
// only: a manager that starts observes anew.
type Rooms struct {
	of map[string]*Room
}

// Observe notes what is free in each place now, and forgets the places that are missing. Call it on each change. If
// after is another one than before, what was observed still counts, as far as it goes back.
func (r *Rooms) Observe(free map[string]Size, after time.Duration, now time.Time) {
	if r.of == nil {
		r.of = map[string]*Room{}
	}
	for place := range r.of {
		if _, there := free[place]; !there {
			delete(r.of, place)
		}
	}
	for place, size := range free {
		switch room := r.of[place]; {
		case room == nil:
			r.of[place] = &Room{After: after}
		case room.After != after:
			r.of[place] = room.over(after, now)
		}
		r.of[place].Observe(size, now)
	}
}

// Wait returns how long it takes until a place has had room for a pod of that size for long enough, if nothing
// changes; 0: it has; negative: it has no room now.
func (r *Rooms) Wait(place string, size Size, now time.Time) time.Duration {
	if room := r.of[place]; room != nil {
		return room.Wait(size, now)
	}
	return -1
}

// parts is in how many parts Room divides the time that it looks back.
const parts = 8

// Room remembers how much of a place has been free all the time during the last After. It takes the same memory
// however often Observe is called.
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

func (r *Room) length() time.Duration { return max(r.After/parts, 1) }

// advance begins the parts up to now. Nothing has changed in them.
func (r *Room) advance(now time.Time) {
	part := int64(now.Sub(r.begun) / r.length())
	for i := max(r.part+1, part-parts); i <= part; i++ {
		r.least[i%(parts+1)] = r.latest
	}
	r.part = max(part, r.part)
}

// over returns the same room, in parts of another After. A new part has the least of all old ones that it touches.
func (r *Room) over(after time.Duration, now time.Time) *Room {
	r.advance(now)
	old, first := r.length(), max(0, r.part-parts)
	as := &Room{After: after, begun: r.begun.Add(time.Duration(first) * old), latest: r.latest}
	as.part = int64(now.Sub(as.begun) / as.length())
	for part := max(0, as.part-parts); part <= as.part; part++ {
		from, to := int64(time.Duration(part)*as.length()/old), int64((time.Duration(part+1)*as.length()-1)/old)
		least := r.least[(first+from)%(parts+1)]
		for i := first + from + 1; i <= min(first+to, r.part); i++ {
			least = least.least(r.least[i%(parts+1)])
		}
		as.least[part%(parts+1)] = least
	}
	return as
}

// Wait returns how long it takes until there has been room for a pod of that size for After, if nothing changes; 0:
// there has; negative: there is no room now.
func (r *Room) Wait(size Size, now time.Time) time.Duration {
	if r.begun.IsZero() || !r.latest.Covers(size) {
		return -1
	}
	r.advance(now)
	wait := max(0, r.begun.Add(r.After).Sub(now))
	for part := max(0, r.part-parts); part <= r.part; part++ {
		if !r.least[part%(parts+1)].Covers(size) { // The part counts until parts more have passed.
			wait = max(wait, r.begun.Add(time.Duration(part+parts+1)*r.length()).Sub(now))
		}
	}
	return wait
}
