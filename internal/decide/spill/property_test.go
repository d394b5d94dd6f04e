package spill

import (
	"cmp"
	"flag"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var defaultInterleavings = 5_000

var (
	interleavings = flag.Int("interleavings", 0, "how many interleavings TestNoLoopAndNoIdleRoom tries; by default 5,000")
	firstSeed     = flag.Uint64("seed", 1, "the seed of the first of them; the next has the next")
)

// TestNoLoopAndNoIdleRoom lets a scheduler, controllers, providers and the manager act in any order, while nodes flap,
// clocks jump and managers restart. Then everybody else stops. No pod may wait although an allowed place has room.
// No pod may be moved without end. The order must hold, up and down.
func TestNoLoopAndNoIdleRoom(t *testing.T) {
	tried, failed := search(*firstSeed, cmp.Or(*interleavings, defaultInterleavings), bug{})
	if failed != nil {
		t.Fatalf("go test ./internal/decide/spill -run TestNoLoopAndNoIdleRoom -interleavings 1 -seed %d\n%s", failed.seed, strings.Join(append(failed.trace, failed.violations...), "\n"))
	}
	t.Logf("%d interleavings from seed %d", tried, *firstSeed)
}

// TestSeededBugs shows that the property can fail.
func TestSeededBugs(t *testing.T) {
	for name, b := range seededBugs {
		t.Run(name, func(t *testing.T) {
			tried, failed := search(*firstSeed, 5_000, b)
			if failed == nil {
				t.Fatalf("not caught by %d interleavings", tried)
			}
			t.Logf("caught by interleaving %d: %s", failed.seed, failed.violations[0])
		})
	}
}

// search tries interleavings on all processors until one finds a violation.
func search(first uint64, n int, b bug) (tried int, failed *world) {
	var lock sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				lock.Lock()
				seed, done := first+uint64(tried), tried == n || failed != nil
				if !done {
					tried++
				}
				lock.Unlock()
				if done {
					return
				}
				if w := newWorld(seed, b); !w.play() {
					w = newWorld(seed, b)
					w.tracing = true
					w.play()
					lock.Lock()
					if failed == nil || w.seed < failed.seed {
						failed = w
					}
					lock.Unlock()
				}
			}
		})
	}
	group.Wait()
	return tried, failed
}

func (w *world) play() bool {
	for range 10 + w.IntN(15) {
		w.others()
		w.advance([]time.Duration{0, 2 * time.Second, 20 * time.Second, time.Minute, 10 * time.Minute}[w.IntN(5)])
		if len(w.violations) > 0 {
			return false
		}
	}
	w.log("nobody else does anything from now on")
	w.chaos = false
	for _, c := range w.clusters {
		if c.down = false; !w.bound(c) {
			w.toggle(c)
		}
	}
	w.changed()
	w.advance(2 * time.Hour)
	w.checkQuiet()
	return len(w.violations) == 0
}

// checkQuiet checks what holds after a long time: what moves now would move for ever.
func (w *world) checkQuiet() {
	w.givenUp, w.returned = 0, 0
	idle := map[*pod]int{}
	const looks = 12
	for range looks {
		w.advance(5 * time.Minute)
		for _, p := range w.pods {
			if p.running || p.node != nil && p.set == statefulSet {
				continue
			}
			for _, c := range w.clusters {
				if c != p.node && w.takes(c, p) {
					idle[p]++
					break
				}
			}
		}
	}
	for p, n := range idle {
		if n == looks {
			w.violation("pod %d waits, although there is room", p.id)
		}
	}
	// In an hour, with a back-off of half an hour, each provider gives up each pod a few times.
	if most := 3 * len(w.clusters) * len(w.pods); w.givenUp > most {
		w.violation("%d pods are given up in an hour: want %d at most", w.givenUp, most)
	}
	w.checkReturnsEnd()
	w.checkReturned()
	before := w.writes
	if w.due.After(w.now) && w.full.entries == nil {
		if w.manage(); w.writes != before {
			w.violation("%d writes, although nothing was due", w.writes-before)
		}
	}
}

// checkReturnsEnd checks that returns end. One that fails is tried again, but more and more slowly. Pods that fit nowhere and
// are given up in turn go first, so a return may come a day late, when none of them waits for a moment. But each return
// moves a pod down, or fails, and then no pod of that size returns there any more.
func (w *world) checkReturnsEnd() {
	const hours = 72
	if w.returned <= w.pickyClusters()*6 {
		return
	}
	most := w.pickyClusters()*6*hours + 2*len(w.clusters)
	for _, p := range w.pods {
		switch {
		case p.set == statefulSet:
		case p.node == nil:
			most += len(w.tiers)
		default:
			most += p.node.tier
		}
	}
	w.returned = 0
	if w.advance(hours * time.Hour); w.returned > most {
		w.violation("%d pods return in %d hours, although nothing has changed for hours: want %d at most", w.returned, hours, most)
	}
}

// pickyClusters counts the clusters in which the manager sees room that the scheduler does not.
func (w *world) pickyClusters() (n int) {
	for _, c := range w.clusters {
		if c.picky >= 0 {
			n++
		}
	}
	return min(n, 1)
}

// checkReturned checks that no pod stays in a later tier, although an earlier one has had room for hours.
func (w *world) checkReturned() {
	for _, p := range w.pods {
		if p.waits() {
			return // It goes first.
		}
	}
	for _, p := range w.pods {
		if p.set == statefulSet || w.pickyClusters() > 0 {
			continue
		}
		for _, c := range w.clusters {
			since := w.free[[2]int64{int64(c.tier), p.amount()}]
			if c.tier < p.node.tier && w.has(c, p) && !w.full.Doubtful(c.name, "", p.size) && !since.IsZero() && w.now.Sub(since) > 2*time.Hour {
				w.violation("pod %d does not return from tier %d, although %q has had room for hours", p.id, p.node.tier, c.name)
			}
		}
	}
}

// checkOpens checks the order up. The clocks on the wall say nothing once they have jumped.
func (w *world) checkOpens(p *pod, usable []Tier, tier int) {
	if p.opens++; p.opens > len(w.tiers)-1 {
		w.violation("tiers were opened %d times for pod %d", p.opens, p.id)
	}
	if !w.jumps && p.tried.Before(p.allowed) {
		w.violation("tier %d opens for pod %d, which the scheduler has not tried in the tiers before", tier, p.id)
	}
	if waited := w.now.Sub(p.allowed); !w.jumps && waited < w.tiers[tier].After-time.Second {
		w.violation("tier %d opens for pod %d after %v, want %v", tier, p.id, waited, w.tiers[tier].After)
	}
	for i := range tier {
		if tier := usable[i]; !tier.Empty() && !tier.Local {
			for _, id := range tier.Clusters {
				if !slices.Contains(p.tolerated, id) {
					w.violation("tier %d opens for pod %d before %s", i, p.id, id)
				}
			}
		}
	}
}

// checkScaleIn checks the order down.
func (w *world) checkScaleIn(gone *pod, rest []*pod) {
	for _, p := range rest {
		if gone.running && p.running && gone.asked == nil && p.asked == nil && p.node.tier > gone.node.tier {
			w.violation("pod %d in tier %d is deleted before pod %d in tier %d", gone.id, gone.node.tier, p.id, p.node.tier)
		}
	}
	for _, p := range append(rest, gone) {
		if p.asked != nil && *p.asked != p.cost {
			w.violation("the deletion cost of pod %d is %d, and its user has set %d", p.id, p.cost, *p.asked)
		}
	}
}

// checkReturn checks what may be evicted, and when.
func (w *world) checkReturn(p *pod) {
	// In the manager, a clock that jumps does not count until it restarts. Then it observes for longer than that.
	if !w.jumps && !w.lastReturn.IsZero() && w.now.Sub(w.lastReturn) < time.Minute {
		w.violation("pod %d returns %v after another one", p.id, w.now.Sub(w.lastReturn))
	}
	fits := func(p *pod) bool {
		for tier := range p.node.tier {
			since := w.free[[2]int64{int64(tier), p.amount()}]
			if !since.IsZero() && w.now.Sub(since) >= returnAfter {
				return true
			}
		}
		return false
	}
	if !fits(p) {
		w.violation("pod %d returns, but no earlier tier has had room for long enough", p.id)
	}
	if !w.last.Failed && !w.last.At.IsZero() && !w.last.Settled {
		w.violation("pod %d returns before the successor of pod %s runs", p.id, w.last.Pod)
	}
	for _, other := range w.pods {
		if other.waits() {
			w.violation("pod %d returns before pod %d, which waits", p.id, other.id)
		} else if other.set == p.set && other.node.tier > p.node.tier && other.size.Covers(p.size) && p.size.Covers(other.size) && !w.doubted(other) {
			w.violation("pod %d returns from tier %d before pod %d from tier %d", p.id, p.node.tier, other.id, other.node.tier)
		}
	}
}

// doubted reports whether any provider has refused such a pod.
func (w *world) doubted(p *pod) bool {
	return slices.ContainsFunc(w.clusters, func(c *cluster) bool { return w.full.Doubtful(c.name, "", p.size) })
}
