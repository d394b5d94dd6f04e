package quota

import "maps"

// Labels returns the labels of a namespace of the consumer, and whether they are known.
type Labels func(namespace string) (labels map[string]string, known bool)

// sums are how much of each entry is used.
type sums struct {
	entries []Entry
	labels  Labels
	used    []Amounts        // By entry.
	known   map[string][]int // The entries that hold for a namespace, by its name.
}

func newSums(entries []Entry, labels Labels) sums {
	s := sums{entries: entries, labels: labels, used: make([]Amounts, len(entries)), known: map[string][]int{}}
	for i := range s.used {
		s.used[i] = Amounts{}
	}
	return s
}

// clone returns sums that can be added to.
func (s *sums) clone() sums {
	other := *s
	other.used = make([]Amounts, len(s.used))
	for i := range s.used {
		other.used[i] = maps.Clone(s.used[i])
	}
	return other
}

// of returns the entries that hold for a namespace.
func (s *sums) of(namespace string) []int {
	of, known := s.known[namespace]
	if !known {
		of = s.find(namespace)
		s.known[namespace] = of
	}
	return of
}

// find finds them anew. While the labels of a namespace are not known, all entries hold for it: better too little is sent
// than too much.
func (s *sums) find(namespace string) []int {
	if labels, known := s.labels(namespace); known {
		return For(s.entries, labels)
	}
	all := make([]int, len(s.entries))
	for i := range all {
		all[i] = i
	}
	return all
}

// add counts a pod, times times.
func (s *sums) add(pod *Pod, times int64) {
	for _, i := range s.of(pod.Namespace) {
		s.used[i].plus(pod.Size, times)
	}
}

// short says which entry has no room for a pod. It returns nil if all that hold for it have.
func (s *sums) short(pod *Pod) *Shortage {
	for _, i := range s.of(pod.Namespace) {
		if short := s.entries[i].short(s.used[i], pod.Size); short != nil {
			return short
		}
	}
	return nil
}
