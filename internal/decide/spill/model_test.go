package spill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// cluster is a provider, or the consumer's own nodes. Its node shows a capacity. What it can really run may be less.
type cluster struct {
	name                string
	tier                int
	shown, real, refuse int64
	down                bool
}

// pod is a pod of one of two ReplicaSets, or of a StatefulSet.
type pod struct {
	id, set int
	size    Size
	// since, seen, opened and tolerated are on the object. So is stuck, by the manager's clock.
	since, stuck time.Time
	seen         bool
	// silent: the scheduler says the same as before about the new nodes, and so does not rewrite the condition.
	silent    bool
	opened    Opened
	tolerated []string
	node      *cluster
	running   bool
	cost      int
	// asked is the cost that the user has set, or nil.
	asked *int
	// The truth, for the invariants: when it was created, tried, and last allowed to use more.
	started, tried, allowed time.Time
	retry                   time.Time
	opens                   int
}

func (p *pod) amount() int64 { return p.size[0].Value }

var sizes = map[int64]Size{}

func init() {
	for n := range int64(64) {
		sizes[n] = Size{}
		if n > 0 {
			sizes[n] = Size{{"cpu", n}}
		}
	}
}

const (
	longest     = 10 * time.Second // The scheduler's longest back-off.
	flush       = 5 * time.Minute  // The scheduler retries all pods.
	returnAfter = 3 * time.Minute
	statefulSet = 2
)

// world is one interleaving: a namespace, its tiers, and everybody who acts on them.
type world struct {
	*rand.Rand
	seed     uint64
	bug      bug
	now      time.Time     // Never set back.
	wall     time.Duration // How far the clocks on the wall are ahead of it.
	jumps    bool
	clusters []*cluster
	tiers    []Tier
	pods     []*pod
	replicas [3]int
	// The memory of the manager, and when it wants to decide again.
	full       Full
	rooms      []Room
	lastReturn time.Time
	due        time.Time
	// free has since when each tier has had room for each size.
	free                                    map[[2]int64]time.Time
	ids, writes, changes, givenUp, returned int
	violations, trace                       []string
	tracing                                 bool
}

func newWorld(seed uint64, b bug) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, bug: b, now: time.Unix(1e9, 0), free: map[[2]int64]time.Time{}}
	w.jumps = w.IntN(2) == 0
	for tier := range 2 + w.IntN(2) {
		t := Tier{After: time.Duration(1+w.IntN(60)) * time.Second}
		if t.Local = tier == 0 && w.IntN(2) == 0; t.Local {
			w.clusters = append(w.clusters, &cluster{tier: 0})
		} else if w.IntN(6) > 0 {
			for i := range 1 + w.IntN(2) {
				name := fmt.Sprint(string(rune('a'+tier)), i)
				t.Clusters = append(t.Clusters, name)
				w.clusters = append(w.clusters, &cluster{name: name, tier: tier})
			}
		}
		w.tiers = append(w.tiers, t)
		w.rooms = append(w.rooms, Room{After: returnAfter})
	}
	for _, c := range w.clusters {
		w.resize(c)
	}
	return w
}

func (w *world) clock() time.Time { return w.now.Add(w.wall) }

// resize changes what a cluster has and takes.
func (w *world) resize(c *cluster) {
	c.shown = int64(w.IntN(12))
	c.real, c.refuse = c.shown, 100
	if c.name == "" {
		return
	}
	if w.IntN(3) == 0 {
		c.real = int64(w.IntN(int(c.shown) + 1)) // Others use it.
	}
	if w.IntN(4) == 0 {
		c.refuse = 1 + int64(w.IntN(4)) // By a quota or an admission policy.
	}
}

func (w *world) used(c *cluster, running bool) (n int64) {
	for _, p := range w.pods {
		if p.node == c && (p.running || !running) {
			n += p.amount()
		}
	}
	return n
}

// takes reports whether a pod could run in a cluster.
func (w *world) takes(c *cluster, p *pod) bool {
	return !c.down && p.amount() < c.refuse && c.shown-w.used(c, false) >= p.amount() && c.real-w.used(c, true) >= p.amount()
}

// others does something that no manager decides.
func (w *world) others() {
	switch w.IntN(8) {
	case 0, 1, 2:
		w.replicas[w.IntN(3)] = w.IntN(6)
	case 3:
		if len(w.clusters) > 0 {
			w.resize(w.clusters[w.IntN(len(w.clusters))])
		}
	case 4: // A node flaps. If it stays away, Kubernetes deletes its pods.
		if len(w.clusters) > 0 {
			c := w.clusters[w.IntN(len(w.clusters))]
			if c.down = !c.down; c.down && w.IntN(2) == 0 {
				w.pods = slices.DeleteFunc(w.pods, func(p *pod) bool { return p.node == c })
			}
		}
	case 5:
		if w.jumps {
			w.wall = time.Duration(w.IntN(20)-10) * time.Hour
		}
	case 6: // The manager restarts.
		w.full, w.lastReturn = Full{}, time.Time{}
		for i := range w.rooms {
			w.rooms[i] = Room{After: returnAfter}
		}
	}
	w.changed()
	w.log("tiers %v, replicas %v, clocks %v", w.tiers, w.replicas, w.wall)
}

// changed wakes the scheduler. It looks at each pod again, after a back-off.
func (w *world) changed() {
	w.changes++
	for _, p := range w.pods {
		if retry := w.now.Add(time.Duration(1+w.IntN(int(longest/time.Second))) * time.Second); p.node == nil && retry.Before(p.retry) {
			p.retry = retry
		}
	}
	w.due = w.now
}

// advance lets time pass, from one event to the next.
func (w *world) advance(d time.Duration) {
	for end := w.now.Add(d); ; {
		for before, rounds := -1, 0; before != w.changes; rounds++ {
			if before = w.changes; rounds > 1000 {
				w.violation("it never ends")
			}
			w.controllers()
			w.schedule()
			w.providers()
			if w.manage(); len(w.violations) > 0 {
				return
			}
		}
		if !w.now.Before(end) {
			return
		}
		next := end
		for _, p := range w.pods {
			if p.node == nil && p.retry.Before(next) {
				next = p.retry
			}
		}
		if w.due.After(w.now) && w.due.Before(next) {
			next = w.due
		}
		if !next.After(w.now) {
			next = w.now.Add(time.Second)
		}
		w.now = next
	}
}

// controllers create and delete pods, as those of ReplicaSets do, with the admission of new pods.
func (w *world) controllers() {
	for set, want := range w.replicas {
		var have []*pod
		for _, p := range w.pods {
			if p.set == set {
				have = append(have, p)
			}
		}
		for range want - len(have) {
			w.create(set)
		}
		slices.SortFunc(have, func(a, b *pod) int {
			return slices.Compare([]int{rank(a), a.cost, -a.id}, []int{rank(b), b.cost, -b.id})
		})
		for i := range max(0, len(have)-want) {
			w.checkScaleIn(have[i], have[i+1:])
			w.remove(have[i], "scale-in")
		}
	}
}

func rank(p *pod) int {
	switch {
	case p.node == nil:
		return 0
	case !p.running:
		return 1
	}
	return 2
}

func (w *world) create(set int) {
	w.ids++
	p := &pod{id: w.ids, set: set, size: sizes[[]int64{1, 3, 2}[set]], started: w.now, allowed: w.now, retry: w.now}
	if w.IntN(10) == 0 {
		p.cost = w.IntN(1000) - 500
		p.asked = &[]int{p.cost}[0]
	}
	if len(w.tiers) > 0 {
		for _, id := range w.tiers[First(w.tiers)].Clusters {
			if w.full.Free(id, "", w.now) {
				p.tolerated = append(p.tolerated, id)
			}
		}
	}
	w.pods = append(w.pods, p)
	w.log("pod %d of %d, size %d, tolerates %v", p.id, set, p.amount(), p.tolerated)
	w.changed()
}

func (w *world) remove(p *pod, why string) {
	w.log("pod %d is gone: %s", p.id, why)
	w.pods = slices.DeleteFunc(w.pods, func(o *pod) bool { return o == p })
	w.changed()
}

// schedule takes any node that a pod tolerates and that shows room.
func (w *world) schedule() {
	for _, p := range w.pods {
		if p.node != nil || p.retry.After(w.now) {
			continue
		}
		p.tried, p.retry = w.now, w.now.Add(flush)
		var fit []*cluster
		for _, c := range w.clusters {
			if !c.down && c.shown-w.used(c, false) >= p.amount() && (c.name == "" || slices.Contains(p.tolerated, c.name)) {
				fit = append(fit, c)
			}
		}
		if len(fit) > 0 {
			p.node, p.since, p.started = fit[w.IntN(len(fit))], time.Time{}, w.now
			w.log("pod %d goes to %q", p.id, p.node.name)
			w.changed()
			continue
		}
		p.seen = p.seen || p.since.IsZero() || !p.silent
		if p.since.IsZero() {
			p.since = w.clock()
		}
		w.due = w.now
	}
}

// providers start pods, or do not.
func (w *world) providers() {
	for _, p := range w.pods {
		switch {
		case p.node == nil || p.running || p.node.down:
		case p.amount() < p.node.refuse && p.node.real-w.used(p.node, true) >= p.amount():
			p.running, p.stuck = true, time.Time{}
			w.full.Ran(p.node.name, "", p.size)
			if p.asked == nil || w.bug.overwrites {
				p.cost = w.bug.costOf(p.node.tier)
			}
			w.log("pod %d runs in %q", p.id, p.node.name)
			w.changed()
		case p.stuck.IsZero():
			p.stuck = w.clock()
			w.due = w.now
		}
	}
}

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
	waiting := Waiting{p.since, p.seen, p.opened, func(id string) bool { return slices.Contains(p.tolerated, id) }}
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
	if remaining(s.Since, after, w.clock()) <= 0 {
		w.full.Refused(p.node.name, "", p.size, w.now)
	}
	gives, wait := w.bug.givesUpOf(s, after, w.clock())
	w.again(wait)
	if gives {
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

func (w *world) violation(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func (w *world) log(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprint(w.now.Unix()-1e9)+" "+fmt.Sprintf(format, args...))
	}
}
