package spill

import (
	"fmt"
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
	s := Stuck{Since: p.stuck, Recreated: p.set != statefulSet, Growth: p.growth()}
	for _, c := range w.clusters {
		open, wait := w.full.Open(c.name, "", p.size, w.now)
		s.Elsewhere = s.Elsewhere || c != p.node && open
		w.again(wait)
	}
	gives, wait := w.bug.givesUpOf(s, after, w.clock())
	w.again(wait)
	w.checkGrowth(p, gives, s.Elsewhere)
	if gives {
		w.full.Refused(p.node.name, "", p.size, Why{}, w.now)
		if p.set == statefulSet {
			w.violation("pod %d of a StatefulSet is given up", p.id)
		}
		w.givenUp++
		w.remove(p, "given up in "+p.node.name)
	}
}

// look measures the room in each place.
func (w *world) look() {
	free, most := map[string]Size{}, map[int]int64{}
	for _, c := range w.clusters {
		if !c.down {
			n := max(0, c.exists-w.used(c, false))
			free[c.name], most[c.tier] = sizes[n], max(most[c.tier], n)
			if w.bug.expects {
				free[c.name] = sizes[max(0, c.shown-w.used(c, false))]
			}
		}
	}
	w.last = w.observe()
	w.rooms.Observe(free, w.bug.patienceOf(w.last), w.now)
	for tier := range w.tiers {
		for size := int64(1); size < 4; size++ {
			if key := [2]int64{int64(tier), size}; most[tier] < size {
				delete(w.free, key)
			} else if w.free[key].IsZero() {
				w.free[key] = w.now
			}
		}
	}
}

// observe reads from the pods whether the last return has failed.
func (w *world) observe() Returned {
	var opened []Opened
	var successors []Successor
	for _, p := range w.pods {
		opened = append(opened, p.opened)
		if p.node != nil && fmt.Sprint(p.set) == w.last.Owner && w.last.Follows(p.created, w.clock()) {
			successors = append(successors, Successor{p.node.tier, p.running})
		}
	}
	return w.last.Observe(opened, successors, w.tiers, returnAfter, w.clock())
}

func (w *world) giveBack() {
	var residents []Resident
	var of []*pod
	back := Back{First: First(w.tiers), After: returnAfter, PerMinute: 1, Last: w.last, Room: func(tier, i int) time.Duration {
		soonest := time.Duration(-1)
		for _, c := range w.clusters {
			if c.tier != tier || c.down || !w.bug.trusts && w.full.Doubtful(c.name, "", of[i].size) {
				continue
			}
			if wait := w.bug.roomOf(&w.rooms, c.name, of[i].size, w.now); soonest < 0 || wait >= 0 && wait < soonest {
				soonest = wait
			}
		}
		return soonest
	}}
	for _, p := range w.pods {
		if p.waits() {
			back.Waiting++
		}
		if p.node != nil {
			residents, of = append(residents, Resident{Tier: p.node.tier, Size: p.size, Movable: p.set != statefulSet, Behind: w.last.Failed && w.last.Owner == fmt.Sprint(p.set), Started: p.started}), append(of, p)
		}
	}
	move := w.bug.returnOf(residents, back, w.clock())
	w.again(move.Wait)
	if move.Pod < 0 {
		return
	}
	w.checkReturn(of[move.Pod])
	w.returned++
	w.lastReturn = w.now
	w.remove(of[move.Pod], "it returns")
	if w.chaos && w.IntN(4) == 0 {
		w.forget()
		w.log("the manager crashes before it has written that")
		return
	}
	w.last = w.last.Next(of[move.Pod].node.tier, fmt.Sprint(of[move.Pod].id), fmt.Sprint(of[move.Pod].set), w.clock())
}

// forget restarts the manager. It has only what is in objects then.
func (w *world) forget() {
	w.full, w.rooms = Full{}, Rooms{}
	w.last.Settled = false
	w.last = w.last.Restored(w.tiers, w.clock())
}
