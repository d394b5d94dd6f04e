package decoded

import "strings"

const (
	// perElement is what an element of a JSON list takes: none is larger than a pod.
	perElement = 2048
	// perRoute is what an element of routes and their parts takes.
	perRoute = 512
	// perField is what a field takes, or an empty object.
	perField = 64
	// deepest limits the nesting of lists and objects. A decoder goes deeper, but nothing that Kubernetes
	// serves is nearly as deep.
	deepest = 1000
)

// JSON measures a message, and finds where it ends.
type JSON struct {
	// Event says that the message is an event of a watch: the object is in a field of it.
	Event bool
	// AnyKind allows all kinds: the decoder turns them into maps, and decodes no quantities.
	AnyKind bool
	// Routes says that the message is about routes of the Gateway API, whose parts are small.
	Routes bool

	in             []bool // From the outside: whether it is a list.
	quoted, escape bool
	text           []byte // Of the current string, where it can be a kind.

	isValue, ofKind bool // The next string is a field's value; the field is the kind.
}

// Read implements Meter.
func (m *JSON) Read(p []byte) (int64, error) {
	var took int64
	for _, b := range p {
		grew, err := m.next(b)
		took += grew
		if err != nil {
			return took, err
		}
	}
	return took, nil
}

// Ends reports whether a byte ends the outermost value.
func (m *JSON) Ends(b byte) bool {
	return len(m.in) == 0 && !m.quoted && (b == '}' || b == ']')
}

func (m *JSON) next(b byte) (int64, error) {
	switch {
	case m.quoted:
		return 1, m.inQuotes(b)
	case b == '"':
		m.quoted, m.text = true, m.text[:0]
	case b == '{' || b == '[':
		if len(m.in) == deepest {
			return 0, errWire
		}
		m.in, m.isValue = append(m.in, b == '['), false
		return m.each(), nil
	case b == '}' || b == ']':
		m.in = m.in[:max(0, len(m.in)-1)]
	case b == ',':
		m.isValue = false
		return m.each(), nil
	case b == ':':
		m.isValue = true
	}
	return 1, nil
}

// inQuotes measures a byte of a string.
func (m *JSON) inQuotes(b byte) error {
	if b == '"' && !m.escape {
		m.quoted = false
		return m.identify(string(m.text))
	}
	m.escape = b == '\\' && !m.escape
	if len(m.text) < longest {
		m.text = append(m.text, b)
	}
	return nil
}

// identify refuses a message whose kind has a Go type, except Status. A client would decode the message as that
// kind, whatever kind it had asked for. Decoders ignore the case of the name. No API server escapes a name or a
// kind.
func (m *JSON) identify(text string) error {
	if depth := len(m.in); m.AnyKind || depth != 1 && (!m.Event || depth != 2) {
		return nil
	}
	if !m.isValue {
		m.ofKind = strings.EqualFold(text, "kind")
	}
	if escaped := strings.Contains(text, `\`); escaped && (m.ofKind || !m.isValue) || m.ofKind && m.isValue && text != "Status" && names[text] {
		return errWire
	}
	return nil
}

// each returns what the start of a list or an object, or a comma, takes.
func (m *JSON) each() int64 {
	switch isElement := len(m.in) > 0 && m.in[len(m.in)-1]; {
	case isElement && m.Routes:
		return perRoute
	case isElement:
		return perElement
	}
	return perField
}
