package transport

import (
	"encoding/binary"

	"github.com/spillway-io/spillway/internal/provider/transport/decoded"
)

const (
	// maxEventBytes is the largest encoded event of a watch. An API server stores no object half as large,
	// unless it is configured to.
	maxEventBytes = 4 << 20
	// maxDecoded is the most memory that an event, or any answer except a list, may take once decoded.
	maxDecoded = 64 << 20
)

// events finds where each event of a watch ends, to notice an event that is too large before it is read.
// client-go collects a JSON event in memory, however long it is. It decodes a Protobuf event to whatever size
// the event implies.
type events struct {
	isProtobuf bool

	// The event so far: encoded, and decoded.
	size, took int64

	// For Protobuf: the length before each event, how much of it has been read, and how
	// much of the event is to come.
	length [4]byte
	known  int
	rest   int64
	meter  *decoded.Protobuf

	text decoded.JSON
}

// read measures more of the answer. It returns what is too large in an event, or an error for invalid bytes.
func (e *events) read(p []byte) (excess string, err error) {
	for len(p) > 0 && excess == "" && err == nil {
		if e.isProtobuf {
			p, err = e.protobuf(p)
		} else {
			p, err = e.json(p)
		}
		switch {
		case e.size > maxEventBytes:
			excess = "is larger than " + inMiB(maxEventBytes)
		case e.took > maxDecoded:
			excess = "takes more than " + inMiB(maxDecoded) + " of memory"
		}
	}
	return excess, err
}

// protobuf measures the length of an event, or a part of it, and returns the rest.
func (e *events) protobuf(p []byte) (left []byte, err error) {
	if e.rest > 0 {
		n := min(e.rest, int64(len(p)))
		took, err := e.meter.Read(p[:n])
		e.rest, e.took = e.rest-n, e.took+took
		return p[n:], err
	}
	e.length[e.known] = p[0]
	if e.known++; e.known == len(e.length) {
		e.known, e.took, e.rest = 0, 0, int64(binary.BigEndian.Uint32(e.length[:]))
		e.size, e.meter = e.rest, decoded.NewEvent(e.rest)
	}
	return p[1:], nil
}

// json measures one byte. A JSON event does not state its length.
func (e *events) json(p []byte) (left []byte, err error) {
	took, err := e.text.Read(p[:1])
	e.size, e.took = e.size+1, e.took+took
	if e.text.Ends(p[0]) {
		e.size, e.took = 0, 0
	}
	return p[1:], err
}
