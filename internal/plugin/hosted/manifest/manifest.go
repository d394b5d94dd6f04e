// Package manifest changes values in a YAML document, and leaves everything else as it is: comments, blank lines,
// the order of keys, and how values are written.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	kubernetes "sigs.k8s.io/yaml"
)

// ErrByHand: the document is written in a way that this package does not change.
var ErrByHand = errors.New("this place of the file must be edited by hand")

// Set returns the document with another value at a path of keys. Everything else stays as it is written. If the
// result does not have exactly that value, or has anything else changed, Set returns an error.
func Set(document []byte, path []string, want any) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	if len(root.Content) != 1 {
		return nil, errors.New("the document is empty")
	}
	expected, err := replaced(document, path, want)
	if err != nil {
		return nil, err
	}
	e := &editor{page: newPage(document)}
	e.change(root.Content[0], nil, expected)
	if e.err != nil {
		return nil, e.err
	}
	out := e.apply()
	var got any
	if err := kubernetes.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, expected) {
		return nil, fmt.Errorf("%w: the result would not be what was asked for", ErrByHand)
	}
	return out, nil
}

// replaced returns what the document says, with another value at the path.
func replaced(document []byte, path []string, want any) (any, error) {
	var all map[string]any
	if err := kubernetes.Unmarshal(document, &all); err != nil {
		return nil, err
	}
	at := all
	for i, key := range path {
		if i == len(path)-1 {
			at[key] = want
			break
		}
		below, ok := at[key].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the document has no %s", key)
		}
		at = below
	}
	// The values must have the types that a document has.
	text, err := kubernetes.Marshal(all)
	if err != nil {
		return nil, err
	}
	var out any
	return out, kubernetes.Unmarshal(text, &out)
}

// splice replaces a part of the document.
type splice struct {
	begin, end int
	text       string
}

// editor collects the changes of a document.
type editor struct {
	page
	splices []splice
	err     error
}

func (e *editor) replace(begin, end int, text string) {
	e.splices = append(e.splices, splice{begin, end, text})
}

func (e *editor) byHand(n *yaml.Node, why string) {
	if e.err == nil {
		e.err = fmt.Errorf("line %d: %w: %s", n.Line, ErrByHand, why)
	}
}

// apply returns the document with all changes.
func (e *editor) apply() []byte {
	slices.SortStableFunc(e.splices, func(a, b splice) int { return a.begin - b.begin })
	var out bytes.Buffer
	at := 0
	for _, s := range e.splices {
		if s.begin < at {
			if s.begin == s.end {
				// Something is added after an entry that is removed with its line.
				out.WriteString(strings.TrimPrefix(s.text, e.eol) + e.eol)
			}
			continue // Otherwise it is in a part that is removed.
		}
		out.Write(e.text[at:s.begin])
		out.WriteString(s.text)
		at = s.end
	}
	out.Write(e.text[at:])
	return out.Bytes()
}

// change makes a node have a value. key is the node of its key, if it has one.
func (e *editor) change(n, key *yaml.Node, want any) {
	list, isList := want.([]any)
	object, isObject := want.(map[string]any)
	switch {
	case e.err != nil || same(n, want):
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		e.byHand(n, "it has an anchor or an alias")
	case n.Kind == yaml.MappingNode && isObject && len(n.Content) > 0 && len(object) > 0:
		e.changeObject(n, object)
	case n.Kind == yaml.SequenceNode && isList && len(n.Content) > 0 && len(list) > 0:
		e.changeList(n, list)
	default:
		e.rewrite(n, key, want)
	}
}

// same reports whether a node has a value already.
func same(n *yaml.Node, want any) bool {
	text, err := yaml.Marshal(expanded(n))
	if err != nil {
		return false
	}
	var has any
	if err := kubernetes.Unmarshal(text, &has); err != nil {
		return false
	}
	return reflect.DeepEqual(has, want)
}

// expanded returns a node with the nodes that its aliases stand for.
func expanded(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return expanded(n.Alias)
	}
	out := *n
	out.Anchor, out.Content = "", nil
	for _, below := range n.Content {
		out.Content = append(out.Content, expanded(below))
	}
	return &out
}

func (e *editor) changeObject(n *yaml.Node, want map[string]any) {
	if slices.ContainsFunc(n.Content, func(key *yaml.Node) bool { return key.Tag == "!!merge" }) {
		e.byHand(n, "it merges another map with <<")
		return
	}
	kept := map[string]bool{}
	var gone []int
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		value, has := want[name]
		if !has {
			gone = append(gone, i/2)
			continue
		}
		kept[name] = true
		e.change(n.Content[i+1], n.Content[i], value)
	}
	if len(kept) == 0 {
		e.byHand(n, "all of its keys would change")
		return
	}
	e.remove(n, 2, gone)
	var added []string
	for name := range want {
		if !kept[name] {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	for _, name := range added {
		e.add(n, name, want[name])
	}
}

// changeList keeps the items that want has, too. An object is known by its name, anything else by its value.
func (e *editor) changeList(n *yaml.Node, want []any) {
	var gone []int
	left := slices.Clone(want)
	for i, item := range n.Content {
		at := slices.IndexFunc(left, func(value any) bool { return alike(item, value) })
		if at < 0 {
			gone = append(gone, i)
			continue
		}
		e.change(item, nil, left[at])
		left = slices.Delete(left, at, at+1)
	}
	if len(gone) == len(n.Content) {
		// Some items take the places of others.
		for len(gone) > 0 && len(left) > 0 {
			e.rewrite(n.Content[gone[0]], nil, left[0])
			gone, left = gone[1:], left[1:]
		}
	}
	e.remove(n, 1, gone)
	for _, value := range left {
		e.add(n, "", value)
	}
}

// alike reports whether an item of a list is to become this value.
func alike(n *yaml.Node, value any) bool {
	object, ok := value.(map[string]any)
	if !ok || n.Kind != yaml.MappingNode {
		return same(n, value)
	}
	for _, key := range []string{"nodegroupName", "name"} {
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1].Value == object[key]
			}
		}
	}
	return same(n, value)
}
