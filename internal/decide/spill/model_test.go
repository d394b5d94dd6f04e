package spill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// cluster is a provider, or the consumer's own nodes. Its node shows a capacity. What it can really run may be less.
type cluster struct {
	name                string
	tier                int
	shown, real, refuse int64
	down                bool
	// picky is a set whose pods the scheduler does not place here, for a reason that the manager does not know; -1: none.
	picky int
	grown
}

// pod is a pod of one of two ReplicaSets, or of a StatefulSet.
type pod struct {
	id, set int
	size    Size
	// since, seen, opened and tolerated are on the object. So is stuck, by the manager's clock.
	since, stuck time.Time
	// declined: the autoscaler says that it starts no node for the pod.
	declined bool
	seen     bool
	// silent: the scheduler says the same as before about the new nodes, and so does not rewrite the condition.
	silent    bool
	opened    Opened
	tolerated []string
	node      *cluster
	running   bool
	cost      int
	// asked is the cost that the user has set, or nil.
	asked   *int
	created time.Time // By the clock of the wall.
	// The truth, for the invariants: when it was created, tried, and last allowed to use more.
	started, tried, allowed, waited time.Time
	retry                           time.Time
	opens                           int
}

// waits reports whether a pod takes the next room: it has no node, or is replaced soon, because its provider has no room.
func (p *pod) waits() bool { return p.node == nil || !p.stuck.IsZero() && p.set != statefulSet }

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

// replacing is a spec that asks for the memory of refusals.
var replacing = v1alpha1.NamespaceOffloadingSpec{Overflow: make([]v1alpha1.OverflowTier, 1), Unschedulable: &v1alpha1.Unschedulable{}}

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
	full  Full
	rooms Rooms
	due   time.Time
	// What is in the status, and when a pod really returned last.
	last       Returned
	lastReturn time.Time
	// chaos: the manager may crash at any time.
	chaos bool
	// free has since when each tier has had room for each size.
	free                                    map[[2]int64]time.Time
	ids, writes, changes, givenUp, returned int
	violations, trace                       []string
	tracing                                 bool
}

func newWorld(seed uint64, b bug) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, bug: b, now: time.Unix(1e9, 0), free: map[[2]int64]time.Time{}}
	w.jumps, w.chaos = w.IntN(2) == 0, true
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
	}
	for _, c := range w.clusters {
		w.resize(c)
		if c.picky = -1; w.IntN(8) == 0 {
			c.picky = w.IntN(3)
		}
	}
	return w
}

func (w *world) clock() time.Time { return w.now.Add(w.wall) }

// resize changes what a cluster has and takes.
func (w *world) resize(c *cluster) {
	c.shown = int64(w.IntN(12))
	c.grown = w.grown(c)
	c.real, c.refuse = c.exists, 100
	if c.name == "" {
		return
	}
	if w.IntN(3) == 0 {
		c.real = int64(w.IntN(int(c.exists) + 1)) // Others use it.
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

// takes reports whether a pod could run in a cluster, perhaps on a new node.
func (w *world) takes(c *cluster, p *pod) bool {
	return w.has(c, p) || w.places(c, p) && c.startsFor(w.lacks(c, p)) && c.delay < growthAfter
}

// has reports whether a pod could run in a cluster now.
func (w *world) has(c *cluster, p *pod) bool { return w.places(c, p) && w.lacks(c, p) <= 0 }

// places reports whether a pod gets to a cluster if it asks for that.
func (w *world) places(c *cluster, p *pod) bool {
	return !c.down && c.picky != p.set && p.amount() < c.refuse && c.shown-w.used(c, false) >= p.amount()
}

// lacks returns how much a cluster lacks for one more pod to run.
func (w *world) lacks(c *cluster, p *pod) int64 { return p.amount() - (c.real - w.used(c, true)) }

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
			if c.down = !c.down || !w.bound(c); c.down && w.IntN(2) == 0 {
				w.pods = slices.DeleteFunc(w.pods, func(p *pod) bool { return p.node == c })
			}
		}
	case 7: // A provider leaves its tier, or comes back.
		if len(w.clusters) > 0 {
			w.toggle(w.clusters[w.IntN(len(w.clusters))])
		}
	case 5:
		if w.jumps {
			w.wall = time.Duration(w.IntN(20)-10) * time.Hour
		}
	case 6: // The manager restarts. What it knows about full providers is in a status, which somebody may empty.
		nso := &v1alpha1.NamespaceOffloading{}
		if w.IntN(2) == 0 {
			nso.Status.Full, _ = w.full.Status("", Open(w.tiers, len(w.tiers)), w.now)
		}
		w.forget()
		w.full = *Read(nso)
		w.loseEvents()
	}
	w.changed()
	w.log("tiers %v, replicas %v, clocks %v", w.tiers, w.replicas, w.wall)
}

func (w *world) bound(c *cluster) bool {
	return c.name == "" || slices.Contains(w.tiers[c.tier].Clusters, c.name)
}

// toggle unbinds a provider with its pods, or binds it again.
func (w *world) toggle(c *cluster) {
	tier := &w.tiers[c.tier]
	switch {
	case c.name == "":
	case w.bound(c):
		tier.Clusters = slices.DeleteFunc(slices.Clone(tier.Clusters), func(id string) bool { return id == c.name })
		w.pods = slices.DeleteFunc(w.pods, func(p *pod) bool { return p.node == c })
		c.down = true
	default:
		tier.Clusters = append(slices.Clone(tier.Clusters), c.name)
		c.down = false
	}
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
			w.autoscale()
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
		for _, at := range append(w.autoscales(), w.due) {
			if at.After(w.now) && at.Before(next) {
				next = at
			}
		}
		if !next.After(w.now) {
			next = w.now.Add(time.Second)
		}
		w.now = next
	}
}

func (w *world) violation(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func (w *world) log(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprint(w.now.Unix()-1e9)+" "+fmt.Sprintf(format, args...))
	}
}
