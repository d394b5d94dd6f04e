package spill

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// remembered is how long a refusal counts after its back-off: the next one doubles the back-off.
	remembered = time.Hour
	// mostEntries, mostRequests and mostSaid are the bounds of the status.
	mostEntries  = 32
	mostRequests = 16
	mostSaid     = 256
)

// Read returns the memory that the status of an offloading holds. It is empty if the spec asks for none.
func Read(nso *v1alpha1.NamespaceOffloading) *Full {
	f := &Full{}
	if !nso.Spec.ReplacesUnschedulable() {
		return f
	}
	for i := range nso.Status.Full {
		full := &nso.Status.Full[i]
		e := entry{size: SizeOfList(full.Requests), tries: int(full.Refusals) - 1, last: full.LastRefusal.Time, why: Why{full.Reason, full.Message}}
		if full.Until != nil {
			e.until = full.Until.Time
		}
		if f.entries == nil {
			f.entries = map[place][]entry{}
		}
		at := place{full.Cluster, nso.Namespace}
		f.entries[at] = append(f.entries[at], e)
	}
	return f
}

// Status returns what the status of an offloading says about those of its providers that have refused pods, and when
// that changes; 0: never. Of too many entries, the last ones stay.
func (f *Full) Status(namespace string, providers []string, now time.Time) (all []v1alpha1.FullProvider, again time.Duration) {
	for _, id := range slices.Sorted(slices.Values(providers)) {
		for _, e := range f.entries[place{id, namespace}] {
			left := e.closed(now)
			forgotten := e.last.Add(e.backoff() + remembered).Sub(now)
			if forgotten <= 0 || forgotten > mostBackoff+remembered { // Or the clock was set back.
				continue
			}
			again = sooner(again, cmp.Or(left, forgotten))
			all = append(all, e.status(id, left > 0))
		}
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.FullProvider) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), a.LastRefusal.Compare(b.LastRefusal.Time))
	})
	if len(all) > mostEntries {
		latest := slices.SortedFunc(slices.Values(all), func(a, b v1alpha1.FullProvider) int { return b.LastRefusal.Compare(a.LastRefusal.Time) })
		oldest := latest[mostEntries-1].LastRefusal.Time
		all = slices.DeleteFunc(all, func(f v1alpha1.FullProvider) bool { return f.LastRefusal.Time.Before(oldest) })
		all = all[:min(len(all), mostEntries)]
	}
	return all, again
}

// status is an entry in the status, whose times are whole seconds. A back-off must not end before its time.
func (e entry) status(clusterID string, closed bool) v1alpha1.FullProvider {
	full := v1alpha1.FullProvider{
		Cluster: clusterID, LastRefusal: metav1.NewTime(e.last.Truncate(time.Second)), Refusals: int32(min(e.tries, 1000)) + 1, //nolint:gosec // It is small.
		Requests: e.size[:min(len(e.size), mostRequests)].Requests(), Reason: e.why.Reason, Message: text.Bound(e.why.Message, mostSaid),
	}
	if closed {
		full.Until = &metav1.Time{Time: e.until.Add(time.Second - 1).Truncate(time.Second)}
	}
	return full
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Says lists the providers that take no pod of that size from the namespace now, until when, and what they said; empty
// if there are none.
func (f *Full) Says(namespace string, providers []string, size Size, now time.Time) string {
	var said []string
	for _, id := range providers {
		if e := f.find(id, namespace, size); e != nil && e.closed(now) > 0 {
			said = append(said, fmt.Sprintf("%s takes no such pod until %s: %s", id, e.until.UTC().Format(time.RFC3339), e.why.Message))
		}
	}
	return strings.Join(said, "; ")
}

// Describe says which pods are kept away from a provider, until when and why.
func Describe(full *v1alpha1.FullProvider) string {
	which := "pods"
	if size := SizeOfList(full.Requests); len(size) > 0 {
		which = "pods that request " + size.String() + " or more"
	}
	if full.Until == nil {
		return fmt.Sprintf("%s refused %s at %s, and may be tried again: %s", full.Cluster, which, full.LastRefusal.UTC().Format(time.RFC3339), full.Message)
	}
	return fmt.Sprintf("%s are kept away from %s until %s: %s", which, full.Cluster, full.Until.UTC().Format(time.RFC3339), full.Message)
}
