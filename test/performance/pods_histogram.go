package performance

// histogram is one of the manager's: the cumulated counts by their bounds, and
// how many there are in all. Those beyond the last bound are in the total only.
type histogram struct {
	bounds []float64
	counts []uint64
	total  uint64
}

// since is what has come after before.
func (h histogram) since(before histogram) histogram {
	for i := range before.counts {
		h.counts[i] -= before.counts[i]
	}
	h.total -= before.total
	return h
}

func (h histogram) reaction() Buckets { return Buckets{P50: h.quantile(0.5), P99: h.quantile(0.99)} }

// quantile is the bucket that q falls into; that of no values is zero.
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
