package performance

// histogram is a histogram of the manager: the cumulated counts by their bounds, and the total. Values beyond
// the last bound are only in the total.
type histogram struct {
	bounds []float64
	counts []uint64
	total  uint64
}

// since returns what was added after before.
func (h histogram) since(before histogram) histogram {
	for i := range before.counts {
		h.counts[i] -= before.counts[i]
	}
	h.total -= before.total
	return h
}

func (h histogram) reaction() Buckets { return Buckets{P50: h.quantile(0.5), P99: h.quantile(0.99)} }

// quantile returns the bucket of the quantile q; zero if there are no values.
func (h histogram) quantile(q float64) Bucket {
	if h.total == 0 {
		return Bucket{}
	}
	for i, count := range h.counts {
		if float64(count) >= q*float64(h.total) {
			return Bucket{Bound: h.bounds[i]}
		}
	}
	return Bucket{Bound: h.bounds[len(h.bounds)-1], Beyond: true}
}
