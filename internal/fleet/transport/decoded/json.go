package decoded

const (
	// perElement is what an element of a list of JSON takes: of what there is, none
	// is larger than a pod.
	perElement = 2048
	// perField is what a field takes, or an object that has none.
	perField = 64
	// deepest is how far lists and objects may be in each other. A decoder follows
	// farther, but nothing that Kubernetes serves is nearly as deep.
	deepest = 1000
)

// JSON measures a message, and finds where it ends.
type JSON struct {
	lists          []bool // Of each that this is in, whether it is a list.
	quoted, escape bool
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

// Ends reports whether a byte ends what is outermost.
func (m *JSON) Ends(b byte) bool {
	return len(m.lists) == 0 && !m.quoted && (b == '}' || b == ']')
}

func (m *JSON) next(b byte) (int64, error) {
	switch {
	case m.escape:
		m.escape = false
	case m.quoted && b == '\\':
		m.escape = true
	case b == '"':
		m.quoted = !m.quoted
	case m.quoted:
	case b == '{' || b == '[':
		if len(m.lists) == deepest {
			return 0, errWire
		}
		m.lists = append(m.lists, b == '[')
		return m.each(), nil
	case b == '}' || b == ']':
		m.lists = m.lists[:max(0, len(m.lists)-1)]
	case b == ',':
		return m.each(), nil
	}
	return 1, nil
}

// each is what comes with the beginning of a list or an object, and with a comma.
func (m *JSON) each() int64 {
	if len(m.lists) > 0 && m.lists[len(m.lists)-1] {
		return perElement
	}
	return perField
}
