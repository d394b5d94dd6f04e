package spill

import "time"

const (
	// DefaultAfter is how long a pod waits for a tier if spec.overflow does not say.
	DefaultAfter = 10 * time.Second
	// Unseen is how much longer a pod waits if nothing shows that the scheduler has tried it since the last tier
	// was opened. The scheduler retries a pod at most 10 s after it may fit somewhere. It does not rewrite the
	// pod's condition if the message is the same, so a missing answer cannot mean to wait forever.
	Unseen = 15 * time.Second
)

// Waiting is what is known about a pod that waits for a node. All of it is on the pod itself.
type Waiting struct {
	// Since is when the scheduler first reported that the pod fits nowhere; zero if it does not report that now.
	Since time.Time
	// Seen reports that the scheduler has tried the pod with the tolerations that it has now.
	Seen bool
	// Opened are the tiers that were opened for the pod, and when it got its last tolerations.
	Opened Opened
	// Tolerates reports whether the pod tolerates the virtual node of a provider.
	Tolerates func(clusterID string) bool
}

// Decision is which tiers a pod may use.
type Decision struct {
	// Tier is the last tier that the pod may use. It may also use all tiers before.
	Tier int
	// Opens reports that Tier is open from now on, because the tiers before had no room.
	Opens bool
	// FitsNone reports that the pod may use all tiers, and fits in none.
	FitsNone bool
	// Wait is how long until the next decision if nothing changes before; 0: never.
	Wait time.Duration
}

// Next decides which tiers a pod may use now. The pod keeps the tiers that it has: Kubernetes does not allow the
// removal of a toleration.
func Next(tiers []Tier, w Waiting, now time.Time) Decision {
	d := Decision{Tier: current(tiers, w)}
	if len(tiers) == 0 || w.Since.IsZero() || !w.toleratesAll(tiers[:d.Tier+1]) {
		return d // What the pod lacks, it gets first.
	}
	next := following(tiers, d.Tier)
	after := DefaultAfter
	if next < len(tiers) {
		after = tiers[next].After
	}
	if !w.Seen {
		after += Unseen
	}
	since := w.Since
	if opened := w.Opened.last().At; opened.After(since) {
		since = opened
	}
	if wait := remaining(since, after, now); wait > 0 {
		d.Wait = wait
		return d
	}
	if next == len(tiers) {
		d.FitsNone = true
		return d
	}
	d.Tier, d.Opens = next, true
	return d
}

// remaining returns how much is left of a wait. A beginning in the future is from another clock, or from before
// this clock was set back. It makes the wait at most twice as long.
func remaining(since time.Time, after time.Duration, now time.Time) time.Duration {
	elapsed := now.Sub(since)
	if elapsed < -after {
		return 0
	}
	return after - elapsed
}

// current returns the last tier that is open for a pod: one that was opened, or whose virtual nodes it tolerates
// anyway.
func current(tiers []Tier, w Waiting) int {
	tier := max(First(tiers), min(w.Opened.last().Tier, len(tiers)-1))
	for i := len(tiers) - 1; i > tier; i-- {
		if !tiers[i].Empty() && w.toleratesAll(tiers[i:i+1]) {
			return i
		}
	}
	return tier
}

func (w Waiting) toleratesAll(tiers []Tier) bool {
	for _, tier := range tiers {
		for _, id := range tier.Clusters {
			if w.Tolerates == nil || !w.Tolerates(id) {
				return false
			}
		}
	}
	return true
}

// following returns the next tier that is not empty, or the number of tiers.
func following(tiers []Tier, tier int) int {
	for tier++; tier < len(tiers) && tiers[tier].Empty(); tier++ {
	}
	return tier
}
