package view

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Sample is how many pods there were in each place, by namespace, from one time on.
type Sample struct {
	At time.Time `json:"at"`
	// Gap says that nobody has looked since.
	Gap bool `json:"gap,omitempty"`
	// Places has the namespaces with most pods, and all pods together for "".
	Places map[string]map[string]int `json:"places,omitempty"`
}

const (
	// mostSamples and mostNamespaces bound the memory of a History.
	mostSamples    = 600
	mostNamespaces = 40
)

// History remembers how many pods there were in each place. When it is full, it forgets every second sample, so it
// always goes back to the beginning.
type History struct {
	Samples []Sample
	// Revision changes whenever it forgets.
	Revision int
	// apart is the least time between two samples.
	apart time.Duration
}

// Add adds a sample, unless nothing has changed. A change that comes soon after another one replaces it.
func (h *History) Add(now time.Time, places map[string]map[string]int) {
	sample := Sample{At: now, Places: bounded(places)}
	if last := h.last(); last != nil && !last.Gap {
		if maps.EqualFunc(last.Places, sample.Places, maps.Equal) {
			return
		}
		if len(h.Samples) > 1 && now.Sub(h.Samples[len(h.Samples)-2].At) < h.apart {
			last.Places = sample.Places
			return
		}
	}
	h.append(sample)
}

// Pause notes that nobody looks for now.
func (h *History) Pause(now time.Time) {
	if last := h.last(); last != nil && !last.Gap {
		h.append(Sample{At: now, Gap: true})
	}
}

// Forget forgets everything, and makes pages do so.
func (h *History) Forget() { *h = History{Revision: h.Revision + 1} }

func (h *History) last() *Sample {
	if len(h.Samples) == 0 {
		return nil
	}
	return &h.Samples[len(h.Samples)-1]
}

func (h *History) append(sample Sample) {
	if len(h.Samples) >= mostSamples {
		kept := h.Samples[:0]
		for i, one := range h.Samples {
			if i%2 == 0 {
				kept = append(kept, one)
			}
		}
		clear(h.Samples[len(kept):])
		h.Samples = kept
		h.Revision++
		// What comes is as far apart as what is kept.
		h.apart = max(time.Second, sample.At.Sub(kept[0].At)/mostSamples)
	}
	h.Samples = append(h.Samples, sample)
}

// bounded keeps the namespaces with most pods, and adds all together.
func bounded(places map[string]map[string]int) map[string]map[string]int {
	total, sums := map[string]int{}, map[string]int{}
	for namespace, counts := range places {
		for place, n := range counts {
			total[place] += n
			sums[namespace] += n
		}
	}
	names := slices.SortedFunc(maps.Keys(places), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	kept := map[string]map[string]int{"": total}
	for _, name := range names[:min(len(names), mostNamespaces)] {
		kept[name] = places[name]
	}
	return kept
}
