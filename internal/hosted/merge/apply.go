package merge

import "maps"

// Apply returns the spec with other values at some paths, as in Plan.SpecWrites; null
// removes what is there. What the spec does not have yet is as upstream has it.
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

// Unchanged tells whether two configurations have the same at some paths.
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
