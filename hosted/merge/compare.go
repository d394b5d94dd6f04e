package merge

import (
	"maps"
	"slices"
	"time"
)

// sides compares the leaves of both sides.
type sides struct {
	in                        Input
	spec, upstream, published *leaves
}

// owned reports whether a list, if the spec sets it, must have no other items.
func (s *sides) owned(f *Field) bool {
	return f.Shape == Keyed && (f.Owned || f.Delete != "" && s.in.Policies.Exclusive)
}

// managed returns the leaves of the spec, in order. It also returns the items that an owned list of the spec
// excludes, as absent.
func (s *sides) managed() []*leaf {
	all := maps.Clone(s.spec.at)
	for path, leaf := range s.upstream.at {
		if s.spec.sets[leaf.list] != nil && s.owned(leaf.field) && all[path] == nil {
			absent := *leaf
			absent.value, absent.text = nil, Null
			all[path] = &absent
		}
	}
	return sorted(all)
}

// waitsForItem reports whether a leaf is in an item that the cloud does not have. Such a leaf cannot be
// compared: the decision about the item covers it.
func (s *sides) waitsForItem(leaf *leaf) bool {
	return leaf.item != "" && s.upstream.at[leaf.item] == nil
}

// baseOf returns the base with which a leaf is compared.
func (s *sides) baseOf(leaf *leaf) Base {
	upstream := s.upstream.text(leaf.path)
	sent, ok := s.sent(leaf)
	if !ok {
		return s.lastBase(leaf)
	}
	switch {
	case !agree(leaf.field, leaf.exists, sent, upstream):
	case leaf.exists:
		// The item exists; somebody else may have changed its fields.
		return Base{true, sent, sent}
	default:
		return Base{true, sent, upstream}
	}
	// The request may have been carried out, and somebody may have changed the value since, even back to what
	// it was. Nothing distinguishes that from a request that was not carried out.
	base := s.lastBase(leaf)
	base.Upstream = sent
	if leaf.text != sent {
		// The spec has changed since the request, so it is not as agreed either.
		base.SpecSet, base.Spec = false, Null
	}
	return base
}

// sent returns the value that was sent for a leaf. If the operation has failed, that counts only if the cloud has the
// value.
func (s *sides) sent(leaf *leaf) (Text, bool) {
	if tried, ok := s.in.Tried[leaf.path]; ok && agree(leaf.field, leaf.exists, tried, s.upstream.text(leaf.path)) {
		return tried, true
	}
	sent, ok := s.in.Sent[leaf.path]
	return sent, ok
}

func (s *sides) lastBase(leaf *leaf) Base {
	if base, ok := s.in.Base[leaf.path]; ok {
		return base
	}
	if _, ok := s.in.Base[leaf.list]; ok && leaf.text == Null && s.owned(leaf.field) {
		// Neither the list in the spec nor the cloud had it.
		return Base{true, Null, Null}
	}
	// The field is newly set. Its author knew at most what was published.
	base := Base{Spec: Null, Upstream: Null}
	if s.published != nil {
		base.Upstream = s.published.text(leaf.path)
	}
	return base
}

func (s *sides) view(leaf *leaf, base Base) view {
	upstream := s.upstream.text(leaf.path)
	v := view{
		immutable: leaf.field.Immutable,
		same:      agree(leaf.field, leaf.exists, leaf.text, upstream),
		spec:      !base.SpecSet || base.Spec != leaf.text,
		upstream:  s.upstreamChanged(leaf, base),
	}
	if at := s.upstream.at[leaf.path]; at != nil {
		v.floats = at.floats
	}
	if listed(leaf) {
		// Whoever changes the fields of a deleted item wants the item.
		v.spec = !base.SpecSet || base.Spec == Null || s.fieldsChanged(leaf)
	}
	return v
}

// listed reports whether a leaf is an item in a list of the spec. For such a leaf, only its existence in the
// cloud counts; its fields have their own leaves.
func listed(leaf *leaf) bool { return leaf.exists && leaf.text != Null }

// upstreamChanged reports whether the cloud has changed a leaf since the spec's author could see it. It is
// not enough to compare with the base. The cloud may have had a third value meanwhile, which was published,
// and the change back was not.
func (s *sides) upstreamChanged(leaf *leaf, base Base) bool {
	upstream := s.upstream.text(leaf.path)
	differs := func(from Text) bool {
		if listed(leaf) {
			return (from == Null) != (upstream == Null)
		}
		return from != upstream
	}
	if _, sent := s.sent(leaf); sent {
		return differs(base.Upstream)
	}
	open := slices.ContainsFunc(s.in.Conflicts, func(c OpenConflict) bool { return c.Path == leaf.path })
	return open || differs(base.Upstream) || s.published != nil && differs(s.published.text(leaf.path))
}

// fieldsChanged reports whether the spec has changed a field of an item.
func (s *sides) fieldsChanged(item *leaf) bool {
	for _, leaf := range s.spec.of(item.path) {
		if base, ok := s.in.Base[leaf.path]; !ok || !base.SpecSet || base.Spec != leaf.text {
			return true
		}
	}
	return false
}

// agree reports whether the cloud has what the spec asks for.
func agree(f *Field, exists bool, spec, upstream Text) bool {
	switch {
	case exists:
		return (spec == Null) == (upstream == Null)
	case spec == upstream:
		return true
	default:
		return f.Same != nil && f.Same(spec.value(), upstream.value())
	}
}

// conflict returns the hash of the conflict that a leaf is in, if it is in one, and when that began. The hash
// includes this time, so the resolution of an older conflict does not match.
func (s *sides) conflict(leaf *leaf, base Base) (hash string, since time.Time) {
	since = s.in.Now
	for _, c := range s.in.Conflicts {
		if c.Path == leaf.path && c.Base == base.Upstream {
			since = c.Since
		}
	}
	upstream := s.upstream.text(leaf.path)
	return digest(leaf.path, string(upstream), since.UTC().Format(time.RFC3339)), since
}

// resolutions are the resolutions of the Input, and which of them match a current conflict.
type resolutions struct {
	all []Resolution
	// used has the indexes of those that match.
	used map[int]bool
}

// of returns the winner of a conflict, if a resolution names it.
func (r *resolutions) of(path, hash string, v view) Side {
	if v.same || !v.spec || !v.upstream {
		return Neither
	}
	for i, one := range r.all {
		if one.Path == path && one.Hash == hash {
			r.used[i] = true
			return one.Take
		}
	}
	return Neither
}

// stale returns the paths of the resolutions that match no conflict.
func (r *resolutions) stale() []string {
	var paths []string
	for i, one := range r.all {
		if !r.used[i] {
			paths = append(paths, one.Path)
		}
	}
	return paths
}
