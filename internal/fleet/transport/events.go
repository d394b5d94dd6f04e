package transport

import (
	"encoding/binary"
	"mime"
)

// maxEventBytes is the largest event of a watch. An API server stores no object
// that is half as large, unless it is told to.
const maxEventBytes = 4 << 20

// events finds where each event of a watch ends, so that one that is too large is
// noticed before it has been read: client-go puts an event of JSON together in
// memory, however long it is.
type events struct {
	isJSON bool

	// Of Protobuf: the length that stands before each event, and how much of it
	// has been read.
	length [4]byte
	known  int
	rest   int64

	// Of JSON: the size of the event so far, and where in it this is.
	size           int64
	depth          int
	quoted, escape bool
}

// newEvents is for an answer with that Content-Type.
func newEvents(contentType string) *events {
	mediaType, _, err := mime.ParseMediaType(contentType)
	return &events{isJSON: err != nil || mediaType != "application/vnd.kubernetes.protobuf"}
}

// read looks at more of the answer. It reports whether an event is too large.
func (e *events) read(p []byte) bool {
	if !e.isJSON {
		return e.protobuf(p)
	}
	for _, b := range p {
		e.size++
		e.json(b)
		if e.size > maxEventBytes {
			return true
		}
	}
	return false
}

func (e *events) protobuf(p []byte) bool {
	for len(p) > 0 {
		if e.rest > 0 {
			n := min(e.rest, int64(len(p)))
			e.rest, p = e.rest-n, p[n:]
			continue
		}
		e.length[e.known] = p[0]
		p = p[1:]
		if e.known++; e.known < len(e.length) {
			continue
		}
		e.known, e.rest = 0, int64(binary.BigEndian.Uint32(e.length[:]))
		if e.rest > maxEventBytes {
			return true
		}
	}
	return false
}

func (e *events) json(b byte) {
	switch {
	case e.escape:
		e.escape = false
	case e.quoted && b == '\\':
		e.escape = true
	case b == '"':
		e.quoted = !e.quoted
	case e.quoted:
	case b == '{' || b == '[':
		e.depth++
	case b == '}' || b == ']':
		e.depth--
	}
	if e.depth <= 0 && !e.quoted && (b == '}' || b == ']') {
		e.size, e.depth = 0, 0
	}
}
