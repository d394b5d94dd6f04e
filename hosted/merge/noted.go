package merge

import "slices"

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
	for _, old := range slices.Backward(s.in.Stored.Decisions) {
		if old.Path == d.Path {
			return old.Take == d.Take && old.Kept == d.Kept && old.Lost == d.Lost
		}
	}
	return false
}
