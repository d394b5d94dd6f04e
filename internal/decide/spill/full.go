package spill

import (
	"cmp"
	"slices"
	"time"
)

const (
	// The back-off of a provider that refuses pods: it doubles with each refusal after it has ended.
	firstBackoff = time.Minute
	mostBackoff  = 30 * time.Minute
	// mostSizes is how many sizes are remembered for a namespace in a provider. With more, all pods are kept
	// away that request as much as the smallest of each resource.
	mostSizes = 8
)

// Full remembers which pods a provider has refused. Its zero value is empty. The status of the NamespaceOffloading
// holds it: see Read. If that is lost, each provider refuses once more.
type Full struct {
	entries map[place][]entry
}

type place struct{ clusterID, namespace string }

type entry struct {
	size  Size
	tries int
	// last is when a pod was refused last, and until when the back-off ends.
	last, until time.Time
	why         Why
}

// Why is what a provider said about a pod that it refused.
type Why struct{ Reason, Message string }

func (e entry) backoff() time.Duration {
	return min(firstBackoff<<min(e.tries, 10), mostBackoff)
}

// closed returns how long the back-off still lasts. One that would last longer than any was noted before the clock was
// set back, and has ended. The status has full seconds, so one that is read there may last a second longer.
func (e entry) closed(now time.Time) time.Duration {
	if left := e.until.Sub(now); left > 0 && left <= mostBackoff+time.Second {
		return left
	}
	return 0
}

// Refused notes that a provider has refused or not placed a pod. A refusal during a back-off is about a pod that was
// sent before it began, and does not lengthen it. The refusal of a large pod says nothing about smaller ones.
func (f *Full) Refused(clusterID, namespace string, size Size, why Why, now time.Time) {
	if open, _ := f.Open(clusterID, namespace, size, now); !open {
		return
	}
	at := place{clusterID, namespace}
	if f.entries == nil {
		f.entries = map[place][]entry{}
	}
	added := entry{size: size, last: now, why: why}
	all := slices.DeleteFunc(f.entries[at], func(e entry) bool {
		covered := e.size.Covers(size)
		if covered && size.Covers(e.size) {
			e.tries++
		}
		if covered {
			added.tries = max(added.tries, e.tries)
		}
		return covered
	})
	if len(all) == mostSizes {
		for _, e := range all {
			added.size, added.tries = added.size.least(e.size), max(added.tries, e.tries)
		}
		all = nil
	}
	added.until = now.Add(added.backoff())
	f.entries[at] = append(all, added)
}

// Ran notes that a pod was started in a provider then. So pods that request no more are welcome there, as
// far as is known.
func (f *Full) Ran(clusterID, namespace string, size Size, started time.Time) {
	at := place{clusterID, namespace}
	if f.entries[at] == nil {
		return
	}
	f.entries[at] = slices.DeleteFunc(f.entries[at], func(e entry) bool { return size.Covers(e.size) && !started.Before(e.last) })
	if len(f.entries[at]) == 0 {
		delete(f.entries, at)
	}
}

// Open reports whether a pod of that size may try the provider now. If not, wait is how long not.
func (f *Full) Open(clusterID, namespace string, size Size, now time.Time) (open bool, wait time.Duration) {
	if e := f.find(clusterID, namespace, size); e != nil && e.closed(now) > 0 {
		return false, e.closed(now)
	}
	return true, 0
}

// Doubtful reports whether the provider has refused such a pod, and has run none since. No running pod is moved
// there.
func (f *Full) Doubtful(clusterID, namespace string, size Size) bool {
	return f.find(clusterID, namespace, size) != nil
}

// Last returns when the provider has refused such a pod last, and how long none may try it; 0: one may try it now.
func (f *Full) Last(clusterID, namespace string, size Size, now time.Time) (refused time.Time, closed time.Duration) {
	if e := f.find(clusterID, namespace, size); e != nil {
		return e.last, e.closed(now)
	}
	return time.Time{}, 0
}

// find returns the refusal of a pod that requested no more, with the longest wait.
func (f *Full) find(clusterID, namespace string, size Size) *entry {
	var found *entry
	all := f.entries[place{clusterID, namespace}]
	for i := range all {
		if size.Covers(all[i].size) && (found == nil || found.until.Before(all[i].until)) {
			found = &all[i]
		}
	}
	return found
}

// Usable returns the tiers without the providers that are full for pods of that size, and how long until that may
// change; 0: no provider is full.
func (f *Full) Usable(tiers []Tier, namespace string, size Size, now time.Time) (usable []Tier, wait time.Duration) {
	usable = slices.Clone(tiers)
	for i := range usable {
		var open []string
		for _, id := range usable[i].Clusters {
			is, left := f.Open(id, namespace, size, now)
			if is {
				open = append(open, id)
				continue
			}
			wait = min(cmp.Or(wait, left), left)
		}
		usable[i].Clusters = open
	}
	return usable, wait
}
