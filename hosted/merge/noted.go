package merge

import "slices"

// Stored is what the previous merge has decided. It shows which decisions are repeated.
type Stored struct {
	// States are the states of the leaves, by path.
	States map[string]State
	// Decisions are the decisions so far, the newest last.
	Decisions []Decision
	// SpecUnchanged says that nobody has changed the spec since.
	SpecUnchanged bool
}

// pending has the state of a leaf while the write that a decision needs is not done.
var pending = map[Side]State{Spec: Pushed, Upstream: WrittenBack}

// noted reports whether a decision is stored already, and is made again only because its write was not done. So a
// decision is new:
//
//   - if the leaf was in another state meanwhile: then the earlier write was done, or was not wanted any more,
//   - if a value of the spec is overwritten, and the spec has changed: its author may have set the same value again,
//   - if a value of the cloud is overwritten that has changed, or that may be newer than a request of ours.
func (s *sides) noted(d Decision) bool {
	_, sent := s.in.Sent[d.Path]
	switch {
	case sent, s.published == nil, s.in.Stored.States[d.Path] != pending[d.Take]:
		return false
	case d.Take == Upstream && !s.in.Stored.SpecUnchanged, s.published.text(d.Path) != s.upstream.text(d.Path):
		return false
	}
	old, found := s.in.Stored.latest(d.Path)
	return found && old.Take == d.Take && old.Kept == d.Kept && old.Lost == d.Lost
}

// again reports whether the cloud overwrites a value of the spec that it has overwritten before, by another value.
func (s *sides) again(d Decision, state State) bool {
	if state != Superseded || s.in.Stored.States[d.Path] != Superseded || !s.in.Stored.SpecUnchanged {
		return false
	}
	old, found := s.in.Stored.latest(d.Path)
	return found && old.Take == Upstream && old.Lost == d.Lost
}

// latest returns the latest decision about a leaf.
func (s Stored) latest(path string) (d Decision, found bool) {
	for _, d := range slices.Backward(s.Decisions) {
		if d.Path == path {
			return d, true
		}
	}
	return Decision{}, false
}
