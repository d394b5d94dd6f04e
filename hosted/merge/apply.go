package merge

import "maps"

// Apply returns the spec with other values at some paths, as in Plan.SpecWrites. Null removes a value. If the
// spec lacks a path, Apply adds it as upstream has it, with the value.
func (t *Table) Apply(spec, upstream, values map[string]any) map[string]any {
	to, source := t.read(spec), t.read(upstream)
	for path, value := range values {
		at := to.at[path]
		if at == nil {
			at = source.at[path]
		}
		switch {
		case value == nil:
			to.remove(path)
		case at != nil:
			with := *at
			with.value = value
			to.at[path] = &with
		}
	}
	return t.build(to)
}

// Unchanged reports whether two configurations have the same values at some paths.
func (t *Table) Unchanged(a, b map[string]any, paths ...string) bool {
	texts := func(config map[string]any) map[string]Text {
		leaves, texts := t.read(config), map[string]Text{}
		for _, path := range paths {
			texts[path] = leaves.text(path)
		}
		return texts
	}
	return maps.Equal(texts(a), texts(b))
}
