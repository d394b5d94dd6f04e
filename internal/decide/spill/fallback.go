package spill

import "time"

// DefaultUnschedulableAfter is how long a provider may fail to place a pod before the pod is given up there.
const DefaultUnschedulableAfter = 5 * time.Minute

// Stuck is a pod on a virtual node that does not run in the provider.
type Stuck struct {
	// Since is since when the provider refuses it or cannot place it; zero: it does neither.
	Since time.Time
	// Recreated reports that the pod's controller creates another pod, and does not care which one goes. That
	// is not so for StatefulSets and Jobs.
	Recreated bool
	// Claims reports that the pod has bound claims, which may be tied to the provider.
	Claims bool
	// Elsewhere reports that some other place may take a pod of this size: see Full.Open.
	Elsewhere bool
	// Growth is what is known about new nodes for the pod. It changes how long the provider may fail to place it.
	Growth Growth
}

// newsFor is how long it is news that a pod is due. A manager that starts later tells nobody again.
const newsFor = firstBackoff

// Due returns how long until the pod has been refused for long enough; 0: it has.
func (s Stuck) Due(after time.Duration, now time.Time) time.Duration {
	return max(0, remaining(s.Since, s.Growth.Patience(after), now))
}

// IsNews reports whether the pod has been refused for long enough since a moment ago.
func (s Stuck) IsNews(after time.Duration, now time.Time) bool {
	late := now.Sub(s.Since) - s.Growth.Patience(after)
	return late >= 0 && late < newsFor
}

// GivesUp decides whether a pod is deleted in the consumer, so that its controller creates another one. If not,
// wait is how long until the next decision if nothing changes before; 0: never. A pod that no other place may
// take stays: a successor would only wait again.
func GivesUp(s Stuck, after time.Duration, now time.Time) (gives bool, wait time.Duration) {
	if s.Since.IsZero() || !s.Recreated || s.Claims {
		return false, 0
	}
	if wait := s.Due(after, now); wait > 0 {
		return false, wait
	}
	return s.Elsewhere, 0
}
