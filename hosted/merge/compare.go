package merge

import (
	"slices"
	"time"
)

// baseOf returns the base with which a leaf is compared.
func (m *merger) baseOf(leaf *leaf) Base {
	upstream := m.upstream.text(leaf.path)
	sent, ok := m.in.Sent[leaf.path]
	if !ok {
		return m.lastBase(leaf)
	}
	switch {
	case !m.same(leaf.field, leaf.exists, sent, upstream):
	case leaf.exists:
		// The item exists; somebody else may have changed its fields.
		return Base{true, sent, sent}
	default:
		return Base{true, sent, upstream}
	}
	// The request may have been carried out, and somebody may have changed the value since, even back to what
	// it was. Nothing distinguishes that from a request that was not carried out.
	base := m.lastBase(leaf)
	base.Upstream = sent
	if leaf.text != sent {
		// The spec has changed since the request, so it is not as agreed either.
		base.SpecSet, base.Spec = false, Null
	}
	return base
}

func (m *merger) lastBase(leaf *leaf) Base {
	if base, ok := m.in.Base[leaf.path]; ok {
		return base
	}
	if _, ok := m.in.Base[leaf.list]; ok && leaf.text == Null && m.owned(leaf.field) {
		// Neither the list in the spec nor the cloud had it.
		return Base{true, Null, Null}
	}
	// The field is newly set. Its author knew at most what was published.
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
		// Whoever changes the fields of a deleted item wants the item.
		v.spec = !base.SpecSet || base.Spec == Null || m.fieldsChanged(leaf)
	}
	return v
}

// listed reports whether a leaf is an item in a list of the spec. For such a leaf, only its existence in the
// cloud counts; its fields have their own leaves.
func listed(leaf *leaf) bool { return leaf.exists && leaf.text != Null }

// upstreamChanged reports whether the cloud has changed a leaf since the spec's author could see it. It is
// not enough to compare with the base. The cloud may have had a third value meanwhile, which was published,
// and the change back was not.
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

// fieldsChanged reports whether the spec has changed a field of an item.
func (m *merger) fieldsChanged(item *leaf) bool {
	for _, leaf := range m.spec.of(item.path) {
		if base, ok := m.in.Base[leaf.path]; !ok || !base.SpecSet || base.Spec != leaf.text {
			return true
		}
	}
	return false
}

// same reports whether the cloud has what the spec asks for.
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

// conflict returns the hash of the conflict that a leaf is in, if it is in one, and when that began. The hash
// includes this time, so the resolution of an older conflict does not match.
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
