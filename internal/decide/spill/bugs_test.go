package spill

import "time"

// bug changes a decision, as a mistake in it would.
type bug struct {
	next       func([]Tier, Waiting, time.Time) Decision
	givesUp    func(Stuck, time.Duration, time.Time) (bool, time.Duration)
	back       func([]Resident, Back, time.Time) Move
	room       func(*Rooms, string, Size, time.Time) time.Duration
	patience   func(Returned) time.Duration
	cost       func(int) int
	full       func(*Full)
	overwrites bool
	forgets    bool
	trusts     bool
	expects    bool
}

func (b bug) nextOf(tiers []Tier, w Waiting, now time.Time) Decision {
	if b.next != nil {
		return b.next(tiers, w, now)
	}
	return Next(tiers, w, now)
}

func (b bug) givesUpOf(s Stuck, after time.Duration, now time.Time) (bool, time.Duration) {
	if b.givesUp != nil {
		return b.givesUp(s, after, now)
	}
	return GivesUp(s, after, now)
}

func (b bug) returnOf(pods []Resident, back Back, now time.Time) Move {
	if b.back != nil {
		return b.back(pods, back, now)
	}
	return Return(pods, back, now)
}

func (b bug) roomOf(r *Rooms, place string, size Size, now time.Time) time.Duration {
	if b.room != nil {
		return b.room(r, place, size, now)
	}
	return r.Wait(place, size, now)
}

func (b bug) patienceOf(r Returned) time.Duration {
	if b.patience != nil {
		return b.patience(r)
	}
	return r.Patience(returnAfter)
}

func (b bug) costOf(tier int) int {
	if b.cost != nil {
		return b.cost(tier)
	}
	return DeletionCost(tier)
}

func (b bug) memory(f *Full) {
	if b.full != nil {
		b.full(f)
	}
}

// seededBugs are mistakes that TestNoLoopAndNoIdleRoom must catch.
var seededBugs = map[string]bug{
	"a tier opens at once": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		return Next(tiers, w, now.Add(time.Hour))
	}},
	"an empty tier is waited for": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		d := Next(tiers, w, now)
		if at := current(tiers, w); d.Opens && tiers[at+1].Empty() {
			return Decision{Tier: at}
		}
		return d
	}},
	"an empty first tier is waited for": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		if len(w.Opened) == 0 && len(tiers) > 0 && tiers[0].Empty() {
			return Decision{}
		}
		return Next(tiers, w, now)
	}},
	"a tier is skipped": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		d := Next(tiers, w, now)
		if d.Opens {
			d.Tier = len(tiers) - 1
		}
		return d
	}},
	"the scheduler is not asked": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		w.Seen = true
		return Next(tiers, w, now)
	}},
	"the scheduler's answer is waited for": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		if !w.Seen {
			return Decision{Tier: current(tiers, w)}
		}
		return Next(tiers, w, now)
	}},
	"a clock that is set back is waited for": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		if last := w.Opened.last().At; !w.Since.IsZero() && (w.Since.After(now) || last.After(now)) {
			return Decision{Tier: current(tiers, w)}
		}
		return Next(tiers, w, now)
	}},
	"it is forgotten which tiers were opened": {forgets: true},
	"a pod waits for ever in the last tier but one": {next: func(tiers []Tier, w Waiting, now time.Time) Decision {
		return Next(tiers[:max(1, len(tiers)-1)], w, now)
	}},
	"a refusal is forgotten at once":                    {full: func(f *Full) { f.entries = nil }},
	"the back-off does not grow":                        {full: func(f *Full) { f.each(func(e *entry) { e.tries = 0 }) }},
	"a full provider is full for ever":                  {full: func(f *Full) { f.each(func(e *entry) { e.until = e.until.Add(24 * time.Hour) }) }},
	"a large pod that is refused keeps small ones away": {full: func(f *Full) { f.each(func(e *entry) { e.size = sizes[1] }) }},
	"no pod is given up":                                {givesUp: func(Stuck, time.Duration, time.Time) (bool, time.Duration) { return false, 0 }},
	"a pod that fits nowhere is deleted": {
		givesUp: func(s Stuck, _ time.Duration, now time.Time) (bool, time.Duration) {
			s.Elsewhere = true
			return GivesUp(s, 0, now)
		},
		full: func(f *Full) { f.each(func(e *entry) { e.tries = 0 }) },
	},
	"a pod of a StatefulSet is given up": {givesUp: func(s Stuck, after time.Duration, now time.Time) (bool, time.Duration) {
		s.Recreated = true
		return GivesUp(s, after, now)
	}},
	"a new node is not waited for": {givesUp: func(s Stuck, after time.Duration, now time.Time) (bool, time.Duration) {
		s.Growth = Growth{}
		return GivesUp(s, after, now)
	}},
	"a new node is waited for without end": {givesUp: func(s Stuck, after time.Duration, now time.Time) (bool, time.Duration) {
		if s.Growth.After > 0 && !s.Growth.Declined {
			return false, 0
		}
		return GivesUp(s, after, now)
	}},
	"the autoscaler's no is not heard": {givesUp: func(s Stuck, after time.Duration, now time.Time) (bool, time.Duration) {
		s.Growth.Declined = false
		return GivesUp(s, after, now)
	}},
	"the autoscaler's no is heard where there is none": {givesUp: func(s Stuck, after time.Duration, now time.Time) (bool, time.Duration) {
		s.Growth.Declined = true
		return GivesUp(s, after, now)
	}},
	"pods return to nodes that do not exist":          {expects: true},
	"pods return to a provider that has refused them": {trusts: true},
	"pods return although others wait": {back: func(pods []Resident, back Back, now time.Time) Move {
		back.Waiting = 0
		return Return(pods, back, now)
	}},
	"pods return all at once": {back: func(pods []Resident, back Back, now time.Time) Move {
		back.Last = Returned{}
		return Return(pods, back, now)
	}},
	"pods return to room that comes and goes": {room: func(r *Rooms, place string, size Size, now time.Time) time.Duration {
		return min(0, r.Wait(place, size, now))
	}},
	"the room of one part is enough": {room: func(r *Rooms, place string, size Size, now time.Time) time.Duration {
		if room := r.of[place]; room != nil && room.Wait(nil, now) == 0 && room.least[room.part%(parts+1)].Covers(size) {
			return 0
		}
		return r.Wait(place, size, now)
	}},
	"the order down is the other way round": {back: func(pods []Resident, back Back, now time.Time) Move {
		m := Return(pods, back, now)
		for i, p := range pods {
			if m.Pod >= 0 && p.Movable && p.Tier > back.First && p.Tier < pods[m.Pod].Tier && back.Room(back.First, i) == 0 {
				m.Pod = i
			}
		}
		return m
	}},
	"the successor is not waited for": {back: func(pods []Resident, back Back, now time.Time) Move {
		back.Last.Settled = true
		return Return(pods, back, now)
	}},
	"no pod returns": {back: func([]Resident, Back, time.Time) Move { return Move{Pod: -1} }},
	"no pod returns after one that failed": {back: func(pods []Resident, back Back, now time.Time) Move {
		if back.Last.Failed {
			return Move{Pod: -1}
		}
		return Return(pods, back, now)
	}},
	"a return that failed is not counted": {back: func(pods []Resident, back Back, now time.Time) Move {
		back.Last.Failed = false
		return Return(pods, back, now)
	}, patience: func(Returned) time.Duration { return returnAfter }},
	"the next return after one that failed does not wait": {back: func(pods []Resident, back Back, now time.Time) Move {
		back.Last.Failed = false
		return Return(pods, back, now)
	}},
	"the first tier is deleted first": {cost: func(tier int) int { return costOfTier * tier }},
	"all tiers cost the same":         {cost: func(int) int { return 0 }},
	"a user's cost is overwritten":    {overwrites: true},
}

func (f *Full) each(do func(*entry)) {
	for _, all := range f.entries {
		for i := range all {
			do(&all[i])
		}
	}
}
