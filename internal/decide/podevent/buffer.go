package podevent

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// MostKept is how many occurrences about pods of one provider are kept. Each takes
	// about a kilobyte.
	MostKept = 1000
	// MostEarly is how many are kept about pods in namespaces that are not known to be Spillway's. Nearly all
	// belong to other tenants. Some are Spillway's, while the watch of the namespaces lags behind.
	MostEarly = 100
	// share is how many times fewer occurrences are kept for each other kind. Each kind has its own room, so
	// that events about Services do not displace events about pods.
	share = 10
	// mostOfOne is how many occurrences of one object are kept, so that an object with many problems leaves
	// room for others.
	mostOfOne = MostShown
	// pods is the kind with the most objects and the most problems.
	pods = "Pod"
)

// Buffer keeps the events of one provider, up to a limit for each kind. When a kind is full, it first drops
// events about unknown objects, then those that are no warnings, then the least recent.
type Buffer struct {
	mu sync.Mutex
	// most is how many occurrences about pods are kept.
	most int
	// objects are the kept occurrences, by the object that they are about.
	objects map[Target]*objectEvents
	// targets are the objects, by the ID of the occurrence.
	targets map[string]Target
	// counts are the numbers of occurrences, by kind.
	counts map[string]int
	// round counts how often all events have been read again.
	round int
}

// objectEvents is what the Buffer keeps about one object.
type objectEvents struct {
	// known reports whether the object has been seen. That may be later than a warning about it, because they
	// come from two watches.
	known bool
	// since is when the first occurrence arrived.
	since       time.Time
	occurrences map[string]occurrence
}

type occurrence struct {
	Occurrence
	round int
}

// NewBuffer returns an empty Buffer for that many occurrences about pods, and a tenth of that about each other
// kind.
func NewBuffer(most int) *Buffer {
	return &Buffer{most: most, objects: map[Target]*objectEvents{}, targets: map[string]Target{}, counts: map[string]int{}}
}

// mostOf returns how many occurrences about objects of a kind are kept.
func (s *Buffer) mostOf(kind string) int {
	if kind == pods {
		return s.most
	}
	return s.most / share
}

// Put stores an occurrence, or replaces its earlier state. known reports whether the object has been seen.
func (s *Buffer) Put(target Target, o Occurrence, known bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.targets[o.ID]; ok && before != target {
		s.remove(o.ID)
	}
	of, ok := s.objects[target]
	if !ok {
		of = &objectEvents{since: now, occurrences: map[string]occurrence{}}
		s.objects[target] = of
	}
	of.known = of.known || known
	of.occurrences[o.ID] = occurrence{o, s.round}
	if _, before := s.targets[o.ID]; !before {
		s.counts[target.Kind]++
	}
	s.targets[o.ID] = target
	if len(of.occurrences) > mostOfOne {
		s.remove(lastWanted(of.occurrences).ID)
	}
	if s.counts[target.Kind] > s.mostOf(target.Kind) {
		s.remove(s.leastWanted(target.Kind))
	}
}

// leastWanted returns the ID of the occurrence about a kind that is dropped first.
func (s *Buffer) leastWanted(kind string) string {
	var found Occurrence
	var foundKnown bool
	for target, of := range s.objects {
		if target.Kind != kind {
			continue
		}
		o := lastWanted(of.occurrences)
		if found.ID == "" || (foundKnown && !of.known) || (foundKnown == of.known && mostWantedFirst(found, o) < 0) {
			found, foundKnown = o, of.known
		}
	}
	return found.ID
}

func lastWanted(of map[string]occurrence) Occurrence {
	var found Occurrence
	for _, o := range of {
		if found.ID == "" || mostWantedFirst(found, o.Occurrence) < 0 {
			found = o.Occurrence
		}
	}
	return found
}

// mostWantedFirst compares occurrences: warnings first, then the most recent.
func mostWantedFirst(a, b Occurrence) int {
	if a.Normal != b.Normal {
		if b.Normal {
			return -1
		}
		return 1
	}
	return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
}

// Remove drops the occurrence with that ID.
func (s *Buffer) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(id)
}

func (s *Buffer) remove(id string) {
	target, ok := s.targets[id]
	if !ok {
		return
	}
	delete(s.targets, id)
	s.counts[target.Kind]--
	of := s.objects[target]
	delete(of.occurrences, id)
	if len(of.occurrences) == 0 {
		delete(s.objects, target)
	}
}

// Drop drops everything about an object.
func (s *Buffer) Drop(target Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, ok := s.objects[target]; ok {
		for id := range of.occurrences {
			s.remove(id)
		}
	}
}

// Begin starts a round in which everything is put again. Sweep then drops the rest.
func (s *Buffer) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
}

// Sweep drops everything that has not been put since Begin.
func (s *Buffer) Sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.objects {
		for id, o := range of.occurrences {
			if o.round != s.round {
				s.remove(id)
			}
		}
	}
}

// Of returns the occurrences of an object, warnings first, then the most recent, and when the first of them arrived.
func (s *Buffer) Of(target Target) ([]Occurrence, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.objects[target]
	if !ok {
		return nil, time.Time{}
	}
	var all []Occurrence
	for _, o := range of.occurrences {
		all = append(all, o.Occurrence)
	}
	slices.SortFunc(all, mostWantedFirst)
	return all, of.since
}

// Known records that an object has been seen, and reports whether anything is kept about it.
func (s *Buffer) Known(target Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.objects[target]
	if ok {
		of.known = true
	}
	return ok
}

// Targets returns the objects about which something is kept.
func (s *Buffer) Targets() []Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.objects))
}

// Release drops everything about the objects of a namespace, and passes it to keep.
func (s *Buffer) Release(namespace string, keep func(Target, Occurrence)) {
	type released struct {
		Target
		Occurrence
	}
	var all []released
	s.mu.Lock()
	for target, of := range s.objects {
		if target.Namespace != namespace {
			continue
		}
		for id, o := range of.occurrences {
			all = append(all, released{target, o.Occurrence})
			s.remove(id)
		}
	}
	s.mu.Unlock()
	for _, r := range all {
		keep(r.Target, r.Occurrence)
	}
}
