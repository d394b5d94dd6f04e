package decoded

import (
	"bytes"
	"encoding/json"

	"github.com/spillway-io/spillway/internal/quantity"
)

const (
	// perElement is what an element of a JSON list takes: none is larger than a pod.
	perElement = 2048
	// perField is what a field takes, or an empty object.
	perField = 64
	// deepest limits how deep lists and objects nest. A decoder goes deeper, but nothing
	// that Kubernetes serves comes near it.
	deepest = 1000
)

// JSON measures a message, and finds where it ends.
type JSON struct {
	in             []within // From the outermost to the current one.
	quoted, escape bool

	isKey bool   // The next string is a field's name.
	now   spot   // The next or current value.
	text  []byte // Of a name, or of a quantity.
}

// within is a list or an object.
type within struct {
	list bool
	spot
}

// spot is where a value stands, and the last field name on the way that the Go types
// know.
type spot struct {
	place *place
	name  string
}

// longestName limits what is kept of a field's name. No name that leads to a quantity is
// as long, even with each character escaped as six.
const longestName = 512

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
		m.enter(b == '[')
		return m.each(), nil
	case b == '}' || b == ']':
		err := m.amount()
		m.in = m.in[:max(0, len(m.in)-1)]
		return 1, err
	case b == ',':
		err := m.amount()
		m.begin()
		return m.each(), err
	case m.now.isAmount() && bytes.IndexByte(blanks, b) < 0:
		return 1, m.keep(b)
	}
	return 1, nil
}

// blanks stand before and after a number.
var blanks = []byte(" \t\r\n:")

// inQuotes measures a byte of a string.
func (m *JSON) inQuotes(b byte) error {
	switch {
	case m.escape:
		m.escape = false
	case b == '\\':
		m.escape = true
	case b == '"':
		m.quoted = false
		if m.isKey {
			m.known()
			return nil
		}
		return m.amount()
	}
	switch {
	case m.isKey && len(m.text) < longestName:
		m.text = append(m.text, b)
	case m.isKey:
	case m.now.isAmount():
		return m.keep(b)
	}
	return nil
}

// enter begins a list or an object.
func (m *JSON) enter(list bool) {
	if len(m.in) == 0 {
		m.now = spot{place: outermost()}
	}
	m.in = append(m.in, within{list, m.now})
	m.begin()
}

// begin prepares for the next element of a list, or field of an object.
func (m *JSON) begin() {
	m.now, m.isKey, m.text = spot{}, false, m.text[:0]
	if len(m.in) == 0 {
		return
	}
	if top := m.in[len(m.in)-1]; top.list {
		m.now = spot{top.place.in(), top.name}
	} else {
		m.isKey = true
	}
}

// known handles a complete field name.
func (m *JSON) known() {
	m.isKey = false
	if len(m.in) == 0 {
		return
	}
	top := m.in[len(m.in)-1]
	key := string(m.text)
	if bytes.IndexByte(m.text, '\\') >= 0 {
		_ = json.Unmarshal([]byte(`"`+key+`"`), &key) // A name that fails is unknown.
	}
	m.now = spot{top.place.of(key), top.name}
	if top.place != nil && top.place.fields[key] != nil {
		m.now.name = key
	}
	m.text = m.text[:0]
}

func (s spot) isAmount() bool { return s.place != nil && s.place.amount }

// keep notes a byte of a quantity.
func (m *JSON) keep(b byte) error {
	m.text = append(m.text, b)
	if len(m.text) > quantity.MaxLength {
		return &QuantityError{m.now.name}
	}
	return nil
}

// amount checks a complete value.
func (m *JSON) amount() error {
	if m.now.isAmount() && !quantity.Bounded(string(m.text)) {
		return &QuantityError{m.now.name}
	}
	return nil
}

// each is what the start of a list or an object, or a comma, takes.
func (m *JSON) each() int64 {
	if len(m.in) > 0 && m.in[len(m.in)-1].list {
		return perElement
	}
	return perField
}
