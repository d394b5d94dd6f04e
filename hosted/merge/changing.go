package merge

import "slices"

// changing reports whether the cloud is changing the item of a leaf.
func (s *sides) changing(leaf *leaf) bool {
	return slices.Contains(s.in.Changing, leaf.item) || leaf.exists && slices.Contains(s.in.Changing, leaf.path)
}

// leave leaves a leaf as the previous merge had it, because its item is being changed. A leaf that is newly set gets
// its base, because its author knew what was published until now.
func (m *merger) leave(leaf *leaf) {
	upstream := m.upstream.text(leaf.path)
	state := m.in.Stored.States[leaf.path]
	switch {
	case agree(leaf.field, leaf.exists, leaf.text, upstream):
		state = Agreed
	case state == "" || state == Agreed:
		state = Pushed
	}
	m.plan.Leaves = append(m.plan.Leaves, Leaf{leaf.path, state, leaf.text, upstream, leaf.exists})
	m.plan.Base[leaf.path] = m.lastBase(leaf)
	for _, c := range m.in.Conflicts {
		if c.Path == leaf.path {
			m.plan.Conflicts = append(m.plan.Conflicts, c)
		}
	}
	m.takeEffect(leaf, state)
	if !leaf.exists || m.upstream.at[leaf.path] != nil {
		return
	}
	for _, field := range m.spec.of(leaf.path) {
		if base, had := m.in.Base[field.path]; had {
			m.plan.Base[field.path] = base
		}
		m.takeEffect(field, state)
	}
}

// Keep returns a configuration with some items as in another one.
func (t *Table) Keep(config, was map[string]any, items []string) map[string]any {
	if len(items) == 0 {
		return config
	}
	now, then := t.read(config), t.read(was)
	for _, item := range items {
		now.remove(item)
		now.copy(then, item)
	}
	return t.build(now)
}
