package merge

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// step is a part of a path: a name in an object, a key of a map, or the key of an item.
type step struct {
	name string
	key  bool
}

// leaf is a value at a path.
type leaf struct {
	path  string
	steps []step
	field *Field
	// item is the path of the item of a Keyed list that contains the leaf; empty for a leaf of the cluster
	// itself. list is the path of the list or map that has the leaf as an entry.
	item, list string
	value      any
	text       Text
	// exists marks the leaf that stands for the existence of an item with fields.
	exists bool
	// floats says that the value changes by itself.
	floats bool
}

// leaves has all leaves of a configuration, by path. sets has the lists and maps that are set, because an
// empty one has no leaf.
type leaves struct {
	at   map[string]*leaf
	sets map[string]*leaf
}

func (l *leaves) text(path string) Text {
	if leaf := l.at[path]; leaf != nil {
		return leaf.text
	}
	return Null
}

// of returns the leaves of an item, sorted.
func (l *leaves) of(item string) []*leaf {
	var in []*leaf
	for _, leaf := range l.at {
		if leaf.item == item && !leaf.exists {
			in = append(in, leaf)
		}
	}
	slices.SortFunc(in, byPath)
	return in
}

// remove removes a leaf, and everything below it.
func (l *leaves) remove(path string) {
	for _, m := range []map[string]*leaf{l.at, l.sets} {
		maps.DeleteFunc(m, func(at string, _ *leaf) bool { return in(at, path) })
	}
}

// copy copies a leaf, and everything below it.
func (l *leaves) copy(from *leaves, path string) {
	for at, leaf := range from.at {
		if in(at, path) {
			l.at[at] = leaf
		}
	}
	for at, leaf := range from.sets {
		if in(at, path) {
			l.sets[at] = leaf
		}
	}
}

func byPath(a, b *leaf) int { return strings.Compare(a.path, b.path) }

// read splits a configuration, in its JSON form, into leaves.
func (t *Table) read(config map[string]any) *leaves {
	l := &leaves{at: map[string]*leaf{}, sets: map[string]*leaf{}}
	l.object(t.root, config, &leaf{})
	// The text of an item is a digest of its fields. It shows whether anybody has changed the item.
	parts := map[string][]string{}
	for _, leaf := range l.at {
		if leaf.item != "" && !leaf.exists && !leaf.floats && leaf.text != Null {
			parts[leaf.item] = append(parts[leaf.item], leaf.path+" "+string(leaf.text))
		}
	}
	for _, leaf := range l.at {
		if leaf.exists {
			slices.Sort(parts[leaf.path])
			leaf.text = textOf(digest(parts[leaf.path]...))
		}
	}
	return l
}

func (l *leaves) object(n *node, object map[string]any, at *leaf) {
	for _, name := range n.names {
		value, set := object[name]
		if !set {
			continue
		}
		child, below := n.children[name], at.below(name)
		switch {
		case child.field == nil:
			if m, ok := value.(map[string]any); ok {
				l.object(child, m, below)
			}
		case value == nil:
			// Null means that a field is not set, like a missing field.
		default:
			below.field = child.field
			l.field(child, value, below)
		}
	}
}

func (l *leaves) field(n *node, value any, at *leaf) {
	switch at.field.Shape {
	case Map:
		l.sets[at.path] = at
		m, _ := value.(map[string]any)
		for key, v := range m {
			l.add(at.keyed(key), v)
		}
	case Keyed:
		l.sets[at.path] = at
		list, _ := value.([]any)
		for _, item := range list {
			l.keyedItem(n, item, at.keyed(at.field.keyOf(item)))
		}
	default:
		l.add(at, value)
	}
}

func (l *leaves) keyedItem(n *node, item any, at *leaf) {
	if n.items == nil {
		l.add(at, item)
		return
	}
	at.exists, at.value = true, true
	l.at[at.path] = at
	m, _ := item.(map[string]any)
	l.object(n.items, m, &leaf{path: at.path, steps: at.steps, item: at.path})
	for _, leaf := range l.at {
		leaf.floats = leaf.floats || leaf.item == at.path && leaf.field.Floats != nil && leaf.field.Floats(m)
	}
}

func (l *leaves) add(at *leaf, value any) {
	at.value, at.text = at.field.normalize(value), at.field.text(value)
	l.at[at.path] = at
}

func (l *leaf) below(name string) *leaf {
	path := name
	if l.path != "" {
		path = l.path + "." + name
	}
	return &leaf{path: path, steps: append(slices.Clip(l.steps), step{name: name}), item: l.item}
}

func (l *leaf) keyed(key string) *leaf {
	return &leaf{
		path: l.path + "[" + strconv.Quote(key) + "]", steps: append(slices.Clip(l.steps), step{name: key, key: true}),
		field: l.field, item: l.item, list: l.path,
	}
}

func (f *Field) keyOf(item any) string {
	if f.KeyOf != nil {
		return f.KeyOf(item)
	}
	m, _ := item.(map[string]any)
	key, _ := m[f.Key].(string)
	return key
}

// build is the inverse of read. It sorts lists of items by key.
func (t *Table) build(l *leaves) map[string]any {
	config := map[string]any{}
	for _, leaf := range sorted(l.at, l.sets) {
		switch {
		case leaf.field.Shape == Map && l.sets[leaf.path] == leaf:
			put(config, t.root, leaf.steps, map[string]any{})
		case l.sets[leaf.path] == leaf:
			put(config, t.root, leaf.steps, []any{})
		case leaf.exists:
			put(config, t.root, leaf.steps, map[string]any{})
		default:
			put(config, t.root, leaf.steps, leaf.value)
		}
	}
	return config
}

func sorted(of ...map[string]*leaf) []*leaf {
	var all []*leaf
	for _, m := range of {
		all = slices.AppendSeq(all, maps.Values(m))
	}
	slices.SortFunc(all, byPath)
	return all
}

// put sets a value in an object, unless the object has one already.
func put(object map[string]any, n *node, steps []step, value any) {
	name := steps[0].name
	n, rest := n.children[name], steps[1:]
	switch {
	case len(rest) == 0:
		if _, there := object[name]; !there {
			object[name] = value
		}
	case !rest[0].key:
		m, _ := object[name].(map[string]any)
		if m == nil {
			m = map[string]any{}
			object[name] = m
		}
		put(m, n, rest, value)
	case n.field.Shape == Map:
		m, _ := object[name].(map[string]any)
		if m == nil {
			m = map[string]any{}
			object[name] = m
		}
		m[rest[0].name] = value
	default:
		object[name] = putItem(object[name], n, rest, value)
	}
}

func putItem(list any, n *node, steps []step, value any) []any {
	items, _ := list.([]any)
	if n.items == nil {
		return append(items, value)
	}
	i := slices.IndexFunc(items, func(item any) bool { return n.field.keyOf(item) == steps[0].name })
	if i < 0 {
		items, i = append(items, map[string]any{n.field.Key: steps[0].name}), len(items)
	}
	if item, ok := items[i].(map[string]any); ok && len(steps) > 1 {
		put(item, n.items, steps[1:], value)
	}
	return items
}
