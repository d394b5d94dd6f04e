package merge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var errPath = errors.New(`a path looks like tags["owner"] or nodePools["workers"].count`)

// split returns the steps of a path.
func split(path string) ([]step, error) {
	var steps []step
	for rest := path; rest != ""; {
		name := rest
		if i := strings.IndexAny(rest, ".["); i >= 0 {
			name = rest[:i]
		}
		if name == "" {
			return nil, fmt.Errorf("%s: %w", path, errPath)
		}
		steps, rest = append(steps, step{name: name}), rest[len(name):]
		for strings.HasPrefix(rest, "[") {
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
				return nil, fmt.Errorf("%s: %w", path, errPath)
			}
			key, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, errPath)
			}
			steps, rest = append(steps, step{name: key, key: true}), rest[len(quoted)+2:]
		}
		if rest == "" {
			break
		}
		if !strings.HasPrefix(rest, ".") || rest == "." {
			return nil, fmt.Errorf("%s: %w", path, errPath)
		}
		rest = rest[1:]
	}
	return steps, nil
}

// RowOf returns the row of a table for a path of a leaf, a list or a map; nil if the table has none.
func RowOf(t *Table, path string) *Field {
	steps, err := split(path)
	if err != nil {
		return nil
	}
	n := t.root
	for i, s := range steps {
		if s.key {
			if i > 0 && !steps[i-1].key && n.field != nil && n.items != nil {
				continue
			}
			if f := n.field; f != nil && i == len(steps)-1 && (f.Shape == Map || f.Shape == Keyed) {
				return f
			}
			return nil
		}
		if i > 0 && steps[i-1].key {
			n = n.items
		}
		if n = n.children[s.name]; n == nil {
			return nil
		}
	}
	return n.field
}

// Call returns the call of that name. It must be in the table.
func (t *Table) Call(name string) Call { return t.Calls[t.order(name)] }

// Within reports whether a path is at the other one, or below it.
func Within(path, at string) bool { return in(path, at) }

// Value is a leaf of a configuration.
type Value struct {
	Path  string
	Value any
	// Item says that the leaf is the existence of an item, such as a pool.
	Item bool
	// Floats says that the value changes by itself.
	Floats bool
	// Empty says that the value counts as missing.
	Empty bool
}

// ValuesOf returns the leaves of a configuration, sorted by path.
func ValuesOf(t *Table, config map[string]any) []Value {
	var all []Value
	for _, leaf := range sorted(t.read(config).at) {
		all = append(all, Value{leaf.path, leaf.value, leaf.exists, leaf.floats, leaf.text == Null})
	}
	return all
}

// Value returns the value as it was given to Merge, without what counts as empty.
func (t Text) Value() any { return t.value() }
