package decoded

import (
	"cmp"
	"errors"
	"math"

	"github.com/spillway-io/spillway/internal/field/quantity"
)

// errWire is the error for anything except Kubernetes Protobuf. The decoder refuses most of that, too. It would
// overlook the rest, which nobody sends.
var errWire = errors.New("the answer does not come from a Kubernetes API: its size cannot be measured")

// magic begins each object.
const magic = "k8s\x00"

// The messages that contain objects. identify uses the numbers of an object's fields.
var (
	event    = &shape{fields: []field{1: {perByte: 1}, 2: {of: extended}}} // metav1.WatchEvent
	extended = &shape{fields: []field{1: {perByte: 1, of: object}}}        // runtime.RawExtension
	object   = &shape{fields: []field{1: {of: typeMeta}, 2: {perByte: 1}}} // runtime.Unknown
	typeMeta = &shape{fields: []field{1: {perByte: 1}, 2: {perByte: 1}}}   // runtime.TypeMeta
	amount   = &shape{fields: []field{1: {perByte: dense}}}                // resource.Quantity
)

// longest is the most bytes of an apiVersion or a kind.
const longest = 256

// Protobuf measures a message.
type Protobuf struct {
	levels []level // From the outermost to the current one.
	at     int64   // The bytes read so far.

	// The number being read, and its meaning.
	number uint64
	shift  uint
	is     token
	now    field // Its field.
	which  int32

	skip int64   // What is left of a field to skip.
	text *[]byte // Where the skipped bytes go, if anywhere.
	// The bytes of a quantity so far.
	quantity []byte

	begin int // How much of the magic is to come.
	// What the object says it is, and whether its content has begun.
	apiVersion, kind []byte
	content          bool
}

// level is a message, and where it ends.
type level struct {
	shape *shape
	end   int64
	name  string // Of the field that led here, or of one around it.
}

// token is the meaning of a number.
type token int

const (
	tag token = iota
	length
	value
)

// The wire types. Groups are refused.
const (
	wireVarint, wire64, wireBytes, wire32 = 0, 1, 2, 5
	bits                                  = 3
)

// NewObject returns a Protobuf that measures an object, or a list of objects.
func NewObject() *Protobuf {
	return &Protobuf{levels: []level{{shape: object, end: math.MaxInt64}}, begin: len(magic)}
}

// NewEvent returns a Protobuf that measures an event of a watch. length is the event's length in bytes.
func NewEvent(length int64) *Protobuf { return &Protobuf{levels: []level{{shape: event, end: length}}} }

// Read implements Meter.
func (m *Protobuf) Read(p []byte) (int64, error) {
	var took int64
	for len(p) > 0 {
		m.leave()
		n, grew, err := m.next(p)
		took += grew
		if err != nil {
			return took, err
		}
		m.at += int64(n)
		p = p[n:]
	}
	return took, nil
}

// next measures some bytes, and returns how many.
func (m *Protobuf) next(p []byte) (n int, took int64, err error) {
	switch {
	case m.skip > 0:
		n = int(min(m.skip, int64(len(p))))
		if m.text != nil {
			*m.text = append(*m.text, p[:n]...)
		}
		m.skip -= int64(n)
		if m.skip == 0 && m.text == &m.quantity && !quantity.Bounded(string(m.quantity)) {
			return n, 0, m.unbounded()
		}
		return n, 0, nil
	case m.begin > 0:
		if p[0] != magic[len(magic)-m.begin] {
			return 0, 0, errWire
		}
		m.begin--
		return 1, 0, nil
	case len(m.levels) == 0:
		return 0, 0, errWire // After the end.
	}
	const most = 64
	if m.shift >= most {
		return 0, 0, errWire
	}
	m.number |= uint64(p[0]&0x7F) << m.shift
	m.shift += 7
	if p[0]&0x80 != 0 {
		return 1, 0, nil
	}
	number := m.number
	m.number, m.shift = 0, 0
	took, err = m.known(number, m.at+1)
	return 1, took, err
}

// known handles a complete number that ends at at.
func (m *Protobuf) known(number uint64, at int64) (int64, error) {
	switch m.is {
	case tag:
		return m.field(number)
	case length:
		m.is = tag
		return m.enter(int64(number), at) //nolint:gosec // As in the decoder: overflow is negative.
	default:
		m.is = tag
		return 0, nil
	}
}

// field begins a field.
func (m *Protobuf) field(number uint64) (int64, error) {
	m.which = int32(number >> bits) //nolint:gosec // As in the decoder.
	if m.which <= 0 {
		return 0, errWire
	}
	m.now = m.levels[len(m.levels)-1].shape.of(m.which)
	m.text = nil
	switch number & (1<<bits - 1) {
	case wireVarint:
		m.is = value
	case wire64:
		m.skip = 8
	case wire32:
		m.skip = 4
	case wireBytes:
		m.is = length
	default:
		return 0, errWire
	}
	return m.now.each, nil
}

// enter enters a field of that length, or skips it.
func (m *Protobuf) enter(size, at int64) (int64, error) {
	top := m.levels[len(m.levels)-1]
	if size < 0 || size > top.end-at {
		return 0, errWire
	}
	of := m.now.of
	switch top.shape {
	case object:
		var err error
		if of, err = m.identify(of); err != nil {
			return 0, err
		}
	case typeMeta:
		if size > longest {
			return 0, errWire
		}
		m.text = map[int32]*[]byte{1: &m.apiVersion, 2: &m.kind}[m.which]
		if m.text != nil {
			*m.text = (*m.text)[:0]
		}
	case amount:
		if m.which == 1 {
			m.text, m.quantity = &m.quantity, m.quantity[:0]
			if size > quantity.MaxLength {
				return 0, m.unbounded()
			}
		}
	}
	if of == nil {
		m.skip = size
		return size * m.now.perByte, nil
	}
	m.levels = append(m.levels, level{of, at + size, cmp.Or(m.now.name, top.name)})
	if of == object && size > 0 {
		m.begin, m.content = len(magic), false
		m.apiVersion, m.kind = m.apiVersion[:0], m.kind[:0]
	}
	return size * m.now.perByte, nil
}

func (m *Protobuf) unbounded() error { return &QuantityError{m.levels[len(m.levels)-1].name} }

// identify returns the shape of an object's field. The content must come last, once its
// kind is known, and only once.
func (m *Protobuf) identify(of *shape) (*shape, error) {
	const identity, content = 1, 2
	if m.content && m.which <= content {
		return nil, errWire
	}
	if m.which != content {
		return of, nil
	}
	m.content = true
	of, ok := shapeOf(string(m.apiVersion), string(m.kind))
	if !ok {
		return nil, errWire
	}
	return of, nil
}

// leave leaves the messages that have ended.
func (m *Protobuf) leave() {
	for m.skip == 0 && m.is == tag && m.shift == 0 && len(m.levels) > 0 && m.at >= m.levels[len(m.levels)-1].end {
		m.levels = m.levels[:len(m.levels)-1]
	}
}
