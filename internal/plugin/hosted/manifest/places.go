package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	kubernetes "sigs.k8s.io/yaml"
)

// end returns the offset after a node.
func (e *editor) end(n *yaml.Node) int {
	switch {
	case n.Kind == yaml.ScalarNode:
		return e.endOfScalar(n)
	case n.Kind == yaml.AliasNode:
		return e.begin(n) + len("*") + len(n.Value)
	case n.Style&yaml.FlowStyle != 0:
		at := e.begin(n) + 1
		if len(n.Content) > 0 {
			at = e.end(n.Content[len(n.Content)-1])
		}
		return e.closing(n, at)
	case len(n.Content) == 0:
		return e.begin(n)
	default:
		return e.end(n.Content[len(n.Content)-1])
	}
}

// closing returns the offset after the bracket that closes a flow collection.
func (e *editor) closing(n *yaml.Node, at int) int {
	for comment := false; at < len(e.text); at++ {
		switch b := e.text[at]; {
		case b == '\n':
			comment = false
		case comment:
		case b == '#':
			comment = true
		case b == ']' || b == '}':
			return at + 1
		}
	}
	e.byHand(n, "its end was not found")
	return at
}

func (e *editor) endOfScalar(n *yaml.Node) int {
	at := e.begin(n)
	switch rest := e.text[at:]; {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return e.endOfBlock(n)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return at + i + 1
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\'' {
				if i+1 < len(rest) && rest[i+1] == '\'' {
					i++
					continue
				}
				return at + i + 1
			}
		}
	case n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 && bytes.HasPrefix(rest, []byte(n.Value)):
		return at + len(n.Value)
	}
	e.byHand(n, "its text has several lines, a tag or an anchor")
	return at
}

// endOfBlock returns the end of the last line of a literal or folded text: each is indented more than the line
// where the text begins.
func (e *editor) endOfBlock(n *yaml.Node) int {
	outer, last := e.indent(n.Line-1), n.Line-1
	for i := n.Line; i < len(e.lines); i++ {
		line := e.line(i)
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if e.indent(i) <= outer {
			break
		}
		last = i
	}
	return e.lines[last] + len(e.line(last))
}

// rewrite replaces the whole value of a node.
func (e *editor) rewrite(n, key *yaml.Node, want any) {
	block := n.Style&yaml.FlowStyle == 0 && (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode)
	empty := n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0
	if (block || empty) && key == nil {
		e.byHand(n, "the whole item would change")
		return
	}
	begin, before := 0, ""
	if block || empty {
		begin, before = e.end(key)+1, " " // After the colon.
	} else {
		begin = e.begin(n)
	}
	end := begin
	if !empty {
		end = e.end(n)
	}
	if begin < end && block && bytes.ContainsRune(e.text[begin:end], '#') {
		e.byHand(n, "a comment would be lost")
		return
	}
	e.replace(begin, end, before+flow(want, n.Style&yaml.DoubleQuotedStyle != 0))
}

// remove removes entries of a collection, of which each has one or two nodes.
func (e *editor) remove(n *yaml.Node, size int, gone []int) {
	count := len(n.Content) / size
	for _, i := range gone {
		first, last := n.Content[i*size], n.Content[i*size+size-1]
		begin, end := e.begin(first), e.end(last)
		if n.Style&yaml.FlowStyle != 0 {
			more := i + 1
			for more < count && slices.Contains(gone, more) {
				more++
			}
			if more < count {
				end = e.begin(n.Content[(i+1)*size])
			} else if i > 0 {
				begin = e.end(n.Content[i*size-1])
			}
			e.replace(begin, end, "")
			continue
		}
		from, to := e.lineOf(begin), e.lineOf(max(begin, end-1))
		if before := strings.TrimSpace(string(e.text[e.lines[from]:begin])); before != "" && (size == 2 || before != "-") {
			e.byHand(first, "it follows a dash")
			return
		}
		e.replace(e.lines[from], min(len(e.text), e.lines[to]+len(e.line(to))+e.newline(to)), "")
	}
}

// add adds an entry at the end of a collection.
func (e *editor) add(n *yaml.Node, key string, value any) {
	end := e.end(n.Content[len(n.Content)-1])
	if n.Style&yaml.FlowStyle != 0 {
		text := ", "
		if key != "" {
			text += flow(key, false) + ": "
		}
		e.replace(end, end, text+flow(value, false))
		return
	}
	last := e.lineOf(max(0, end-1))
	at := e.lines[last] + len(e.line(last))
	indent := strings.Repeat(" ", n.Content[0].Column-1)
	if key == "" {
		indent = strings.Repeat(" ", n.Column-1)
	}
	e.replace(at, at, e.eol+strings.ReplaceAll(block(indent, key, value), "\n", e.eol))
}

// block writes an entry in lines of its own.
func block(indent, key string, value any) string {
	var entry any = []any{value}
	if key != "" {
		entry = map[string]any{key: value}
	}
	text, err := kubernetes.Marshal(entry)
	if err != nil {
		return "" // Values come from JSON.
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := range lines {
		lines[i] = indent + lines[i]
	}
	return strings.Join(lines, "\n")
}

// flow writes a value in one line, so that it is right everywhere.
func flow(value any, quoted bool) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return "" // Values come from JSON.
	}
	json := strings.TrimSuffix(text.String(), "\n")
	word, ok := value.(string)
	if !ok || quoted {
		if list, ok := value.([]any); ok {
			return flowList(list)
		}
		return json
	}
	plain, err := kubernetes.Marshal(word)
	if out := strings.TrimSuffix(string(plain), "\n"); err == nil && !strings.ContainsAny(out, "\n,[]{}#:") {
		return out
	}
	return json
}

func flowList(list []any) string {
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = flow(item, false)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
