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
	// MostEarly is how many are kept about pods in namespaces that are not known to be
	// ours. Nearly all are other tenants'; ours are among them while the watch of the
	// namespaces lags behind.
	MostEarly = 100
	// share is how many times fewer are kept of each other kind. Each kind has its own room,
	// so that what is said of Services pushes out nothing that is said of pods.
	share = 10
	// mostOfOne is how many of one object are kept: one with many problems leaves room for
	// the others.
	mostOfOne = MostShown
	// pods are the kind with most objects, and most problems.
	pods = "Pod"
)

// Shelf keeps the warnings of one provider, up to a limit for each kind. Those about
// unknown objects go first, then the least recent.
type Shelf struct {
	mu sync.Mutex
	// most is how many occurrences about pods there may be.
	most int
	// objects are what is kept, by the object that it is about.
	objects map[Target]*kept
	// targets are the objects, by the ID of the occurrence.
	targets map[string]Target
	// counts are how many occurrences there are, by kind.
	counts map[string]int
	// round counts how often everything has been read again.
	round int
}

// kept is what is kept of one object.
type kept struct {
	// known reports whether the object has been seen, which may be later than a warning about
	// it: they come from two watches.
	known bool
	// since is when the first occurrence arrived.
	since       time.Time
	occurrences map[string]occurrence
}

type occurrence struct {
	Occurrence
	round int
}

// NewShelf returns an empty Shelf for so many occurrences about pods, and a tenth of that
// about each other kind.
func NewShelf(most int) *Shelf {
	return &Shelf{most: most, objects: map[Target]*kept{}, targets: map[string]Target{}, counts: map[string]int{}}
}

// mostOf is how many occurrences about objects of a kind there may be.
func (s *Shelf) mostOf(kind string) int {
	if kind == pods {
		return s.most
	}
	return s.most / share
}

// Put keeps an occurrence, replacing an earlier state of it. known reports whether the
// object has been seen.
func (s *Shelf) Put(target Target, o Occurrence, known bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.targets[o.ID]; ok && before != target {
		s.remove(o.ID)
	}
	of, ok := s.objects[target]
	if !ok {
		of = &kept{since: now, occurrences: map[string]occurrence{}}
		s.objects[target] = of
	}
	of.known = of.known || known
	of.occurrences[o.ID] = occurrence{o, s.round}
	if _, before := s.targets[o.ID]; !before {
		s.counts[target.Kind]++
	}
	s.targets[o.ID] = target
	if len(of.occurrences) > mostOfOne {
		s.remove(leastRecent(of.occurrences).ID)
	}
	if s.counts[target.Kind] > s.mostOf(target.Kind) {
		s.remove(s.leastWanted(target.Kind))
	}
}

// leastWanted is the ID of the occurrence that goes first, of those about a kind.
func (s *Shelf) leastWanted(kind string) string {
	var found Occurrence
	var foundKnown bool
	for target, of := range s.objects {
		if target.Kind != kind {
			continue
		}
		o := leastRecent(of.occurrences)
		if found.ID == "" || (foundKnown && !of.known) || (foundKnown == of.known && moreRecentFirst(found, o) < 0) {
			found, foundKnown = o, of.known
		}
	}
	return found.ID
}

func leastRecent(of map[string]occurrence) Occurrence {
	var found Occurrence
	for _, o := range of {
		if found.ID == "" || moreRecentFirst(found, o.Occurrence) < 0 {
			found = o.Occurrence
		}
	}
	return found
}

// moreRecentFirst orders occurrences.
func moreRecentFirst(a, b Occurrence) int {
	return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
}

// Remove drops the occurrence of that ID.
func (s *Shelf) Remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(id)
}

func (s *Shelf) remove(id string) {
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

// Drop drops all that is kept of an object.
func (s *Shelf) Drop(target Target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, ok := s.objects[target]; ok {
		for id := range of.occurrences {
			s.remove(id)
		}
	}
}

// Begin starts a round in which everything is put again; Sweep then drops what was not.
func (s *Shelf) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
}

// Sweep drops what has not been put since Begin.
func (s *Shelf) Sweep() {
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

// Of is what is kept of an object, most recent first, and since when.
func (s *Shelf) Of(target Target) ([]Occurrence, time.Time) {
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
	slices.SortFunc(all, moreRecentFirst)
	return all, of.since
}

// Known records that an object has been seen, and reports whether anything is kept of it.
func (s *Shelf) Known(target Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.objects[target]
	if ok {
		of.known = true
	}
	return ok
}

// Targets are the objects about which something is kept.
func (s *Shelf) Targets() []Target {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.objects))
}

// Release drops everything about the objects of a namespace, and passes it to keep.
func (s *Shelf) Release(namespace string, keep func(Target, Occurrence)) {
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
