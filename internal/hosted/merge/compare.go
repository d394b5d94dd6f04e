package merge

import (
	"slices"
	"time"
)

// baseOf returns what a leaf is compared with.
func (m *merger) baseOf(leaf *leaf) Base {
	upstream := m.upstream.text(leaf.path)
	sent, ok := m.in.Sent[leaf.path]
	if !ok {
		return m.lastBase(leaf)
	}
	switch {
	case !m.same(leaf.field, leaf.exists, sent, upstream):
	case leaf.exists:
		// It is there; what is in it may be somebody's.
		return Base{true, sent, sent}
	default:
		return Base{true, sent, upstream}
	}
	// It may have been done, and somebody may have changed it since: back to what it was
	// before, for all that can be told.
	base := m.lastBase(leaf)
	base.Upstream = sent
	if leaf.text != sent {
		// Nor is the spec as agreed: it was sent, and is another now.
		base.SpecSet, base.Spec = false, Null
	}
	return base
}

func (m *merger) lastBase(leaf *leaf) Base {
	if base, ok := m.in.Base[leaf.path]; ok {
		return base
	}
	if _, ok := m.in.Base[leaf.list]; ok && leaf.text == Null && m.owned(leaf.field) {
		// The list did not have it, and nor had the cloud.
		return Base{true, Null, Null}
	}
	// Newly set. Whoever did it knew at best what was published.
	base := Base{Spec: Null, Upstream: Null}
	if m.published != nil {
		base.Upstream = m.published.text(leaf.path)
	}
	return base
}

func (m *merger) view(leaf *leaf, base Base) view {
	upstream := m.upstream.text(leaf.path)
	v := view{
		immutable: leaf.field.Immutable,
		same:      m.same(leaf.field, leaf.exists, leaf.text, upstream),
		spec:      !base.SpecSet || base.Spec != leaf.text,
		upstream:  m.upstreamChanged(leaf, base),
	}
	if at := m.upstream.at[leaf.path]; at != nil {
		v.floats = at.floats
	}
	if listed(leaf) {
		// To want other fields of an item that is gone is to want it.
		v.spec = !base.SpecSet || base.Spec == Null || m.fieldsChanged(leaf)
	}
	return v
}

// listed tells whether a leaf is an item in the list of the spec. What matters of it is
// whether the cloud has it; its fields have leaves of their own.
func listed(leaf *leaf) bool { return leaf.exists && leaf.text != Null }

// upstreamChanged tells whether the cloud has changed a leaf since the spec's author could
// see it. That the value is the one of the base is not enough: it may have been another
// meanwhile, which was published, and what is there now was not.
func (m *merger) upstreamChanged(leaf *leaf, base Base) bool {
	upstream := m.upstream.text(leaf.path)
	differs := func(from Text) bool {
		if listed(leaf) {
			return (from == Null) != (upstream == Null)
		}
		return from != upstream
	}
	if _, sent := m.in.Sent[leaf.path]; sent {
		return differs(base.Upstream)
	}
	open := slices.ContainsFunc(m.in.Conflicts, func(c OpenConflict) bool { return c.Path == leaf.path })
	return open || differs(base.Upstream) || m.published != nil && differs(m.published.text(leaf.path))
}

// fieldsChanged tells whether the spec has changed a field of an item.
func (m *merger) fieldsChanged(item *leaf) bool {
	for _, leaf := range m.spec.of(item.path) {
		if base, ok := m.in.Base[leaf.path]; !ok || !base.SpecSet || base.Spec != leaf.text {
			return true
		}
	}
	return false
}

// same tells whether the cloud has what the spec asks for.
func (m *merger) same(f *Field, exists bool, spec, upstream Text) bool {
	switch {
	case exists:
		return (spec == Null) == (upstream == Null)
	case spec == upstream:
		return true
	default:
		return f.Same != nil && f.Same(spec.value(), upstream.value())
	}
}

// conflict returns what identifies the conflict that a leaf is in, if it is in one: when
// it began is a part of it, so that no resolution of an older one fits.
func (m *merger) conflict(leaf *leaf, base Base) (hash string, since time.Time) {
	since = m.in.Now
	for _, c := range m.in.Conflicts {
		if c.Path == leaf.path && c.Base == base.Upstream {
			since = c.Since
		}
	}
	upstream := m.upstream.text(leaf.path)
	return digest(leaf.path, string(upstream), since.UTC().Format(time.RFC3339)), since
}

func (m *merger) resolution(path, hash string, v view) Side {
	if v.same || !v.spec || !v.upstream {
		return Neither
	}
	for i, r := range m.in.Policies.Resolutions {
		if r.Path == path && r.Hash == hash {
			m.used[i] = true
			return r.Take
		}
	}
	return Neither
}

func (m *merger) stale() []string {
	var paths []string
	for i, r := range m.in.Policies.Resolutions {
		if !m.used[i] {
			paths = append(paths, r.Path)
		}
	}
	return paths
}
