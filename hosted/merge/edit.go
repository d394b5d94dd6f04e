package merge

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edited returns a copy of a configuration with other values at the paths of some leaves. Nil removes a value, or a
// whole item. The value of an item is true: it is added if it is missing. Unlike Apply, Edited leaves all other
// values as they are written.
func Edited(t *Table, config, values map[string]any) (map[string]any, error) {
	config, _ = clone(config).(map[string]any)
	if config == nil {
		config = map[string]any{}
	}
	// An item comes before its fields.
	for _, path := range slices.Sorted(maps.Keys(values)) {
		steps, err := split(path)
		if err != nil {
			return nil, err
		}
		if RowOf(t, path) == nil {
			return nil, fmt.Errorf("%s is not a field", path)
		}
		assign(config, t.root, steps, values[path])
	}
	return config, nil
}

// assign sets a value in an object, or removes it.
func assign(object map[string]any, n *node, steps []step, value any) {
	name, rest := steps[0].name, steps[1:]
	n = n.children[name]
	switch {
	case len(rest) == 0 && value == nil:
		delete(object, name)
	case len(rest) == 0:
		object[name] = value
	case rest[0].key && n.field.Shape == Map:
		assignKey(object, name, rest[0].name, value)
	case rest[0].key:
		items, _ := object[name].([]any)
		object[name] = assignItem(items, n, rest, value)
	default:
		below, _ := object[name].(map[string]any)
		if below == nil {
			if value == nil {
				return
			}
			below = map[string]any{}
			object[name] = below
		}
		assign(below, n, rest, value)
	}
}

// assignKey sets a key of a map, or removes it. An empty map stays.
func assignKey(object map[string]any, name, key string, value any) {
	m, _ := object[name].(map[string]any)
	switch {
	case value == nil:
		delete(m, key)
	case m == nil:
		object[name] = map[string]any{key: value}
	default:
		m[key] = value
	}
}

// assignItem sets something in an item of a list, adds the item, or removes it. An empty list stays.
func assignItem(items []any, n *node, steps []step, value any) []any {
	i := slices.IndexFunc(items, func(item any) bool { return n.field.keyOf(item) == steps[0].name })
	switch {
	case len(steps) == 1 && value == nil:
		if i < 0 {
			return items
		}
		return slices.Delete(items, i, i+1)
	case n.items == nil && i < 0:
		return append(items, value)
	case n.items == nil:
		items[i] = value
		return items
	case i < 0 && value == nil:
		return items
	case i < 0:
		items, i = append(items, map[string]any{n.field.Key: steps[0].name}), len(items)
	}
	if item, ok := items[i].(map[string]any); ok && len(steps) > 1 {
		assign(item, n.items, steps[1:], value)
	}
	return items
}

// Absent returns the value of a spec that asks for what a cloud without this value has. An entry of a list or a map
// is removed. A field keeps its place with the empty value of its type, so that it stays managed.
func Absent(path string, was any) any {
	if strings.HasSuffix(path, "]") {
		return nil
	}
	return zero(was)
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = clone(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	default:
		return value
	}
}
