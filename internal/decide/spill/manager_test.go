package spill

import (
	"slices"
	"time"
)

// manage is what the manager does.
func (w *world) manage() {
	w.due = w.now.Add(24 * time.Hour)
	w.bug.memory(&w.full)
	w.look()
	for _, p := range slices.Clone(w.pods) {
		switch {
		case p.node == nil:
			w.overflow(p)
		case !p.stuck.IsZero():
			w.fallback(p)
		}
	}
	w.giveBack()
}

func (w *world) again(wait time.Duration) {
	if at := w.now.Add(wait); wait > 0 && at.Before(w.due) {
		w.due = at
	}
}

func (w *world) overflow(p *pod) {
	usable, wait := w.full.Usable(w.tiers, "", p.size, w.now)
	w.again(wait)
	waiting := Waiting{Since: p.since, Seen: p.seen, Opened: p.opened, Tolerates: func(id string) bool { return slices.Contains(p.tolerated, id) }}
	d := w.bug.nextOf(usable, waiting, w.clock())
	w.again(d.Wait)
	if d.Opens {
		w.checkOpens(p, usable, d.Tier)
	}
	var missing []string
	for _, id := range Open(usable, d.Tier) {
		if !slices.Contains(p.tolerated, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return
	}
	if !w.bug.forgets {
		p.opened = p.opened.With(d.Tier, w.clock())
	}
	p.tolerated, p.seen, p.allowed = append(p.tolerated, missing...), false, w.now
	p.silent = w.IntN(2) == 0
	w.writes++
	w.log("pod %d may use tier %d: %v", p.id, d.Tier, missing)
	w.changed()
}

func (w *world) fallback(p *pod) {
	const after = DefaultUnschedulableAfter
	s := Stuck{Since: p.stuck, Recreated: p.set != statefulSet}
	for _, c := range w.clusters {
		open, wait := w.full.Open(c.name, "", p.size, w.now)
		s.Elsewhere = s.Elsewhere || c != p.node && open
		w.again(wait)
	}
	gives, wait := w.bug.givesUpOf(s, after, w.clock())
	w.again(wait)
	if gives {
		w.full.Refused(p.node.name, "", p.size, Why{}, w.now)
		if p.set == statefulSet {
			w.violation("pod %d of a StatefulSet is given up", p.id)
		}
		w.givenUp++
		w.remove(p, "given up in "+p.node.name)
	}
}

// look measures the room in each tier.
func (w *world) look() {
	for tier := range w.tiers {
		var most int64
		for _, c := range w.clusters {
			if c.tier == tier && !c.down {
				most = max(most, c.shown-w.used(c, false))
			}
		}
		w.rooms[tier].Observe(sizes[max(most, 0)], w.now)
		for size := int64(1); size < 4; size++ {
			if key := [2]int64{int64(tier), size}; most < size {
				delete(w.free, key)
			} else if w.free[key].IsZero() {
				w.free[key] = w.now
			}
		}
	}
}

func (w *world) giveBack() {
	var residents []Resident
	var of []*pod
	back := Back{PerMinute: 1, Last: w.lastReturn, Room: func(tier int, size Size) bool {
		if slices.ContainsFunc(w.tiers[tier].Clusters, func(id string) bool { return !w.bug.trusts && w.full.Doubtful(id, "", size) }) {
			return false
		}
		return w.bug.roomOf(&w.rooms[tier], size, w.now)
	}}
	for _, p := range w.pods {
		if p.node == nil {
			back.Waiting++
		} else if p.running {
			residents, of = append(residents, Resident{p.node.tier, p.size, p.set != statefulSet, p.started}), append(of, p)
		}
	}
	evict, wait := w.bug.returnOf(residents, back, w.now)
	w.again(wait)
	if evict < 0 {
		if slices.ContainsFunc(residents, func(r Resident) bool { return r.Tier > 0 && r.Movable }) && back.Waiting == 0 && w.roomSoon(residents) {
			w.again(returnAfter / parts)
		}
		return
	}
	w.checkReturn(of[evict])
	w.returned++
	w.lastReturn = w.now
	w.remove(of[evict], "it returns")
}

// roomSoon reports whether an earlier tier may have had room for a pod for long enough soon.
func (w *world) roomSoon(residents []Resident) bool {
	for _, r := range residents {
		for tier := range r.Tier {
			if w.rooms[tier].latest.Covers(r.Size) && !w.rooms[tier].Has(r.Size, w.now) {
				return true
			}
		}
	}
	return false
}
