package performance

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// reactions watches the transports of a manager. It records when the first byte of a pod event arrives from a
// provider, and when the next status of a pod is sent to the consumer. The first causes the second if there
// is only one change at a time.
type reactions struct {
	consumer string

	mu      sync.Mutex
	waiting bool
	arrived time.Time
	all     []time.Duration
}

func newReactions(consumer string) *reactions { return &reactions{consumer: consumer} }

// expect makes the next change count.
func (r *reactions) expect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting, r.arrived = true, time.Time{}
}

// noteArrival reports whether the event that begins now counts.
func (r *reactions) noteArrival() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waiting || !r.arrived.IsZero() {
		return false
	}
	r.arrived = time.Now()
	return true
}

// noteBookmark reverts noteArrival: the event was not a change.
func (r *reactions) noteBookmark() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting {
		r.arrived = time.Time{}
	}
}

func (r *reactions) noteWrite() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting && !r.arrived.IsZero() {
		r.all = append(r.all, time.Since(r.arrived))
		r.waiting = false
	}
}

// timing returns the quantiles of the reactions, and their number.
func (r *reactions) timing() (Timing, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return timingOf(r.all, 0), len(r.all)
}

func (r *reactions) wrap(cluster string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		pods := strings.Contains(request.URL.Path, "/pods")
		if pods && cluster == r.consumer && request.Method == http.MethodPatch {
			r.noteWrite()
		}
		response, err := next.RoundTrip(request)
		if err == nil && pods && cluster != r.consumer && request.URL.Query().Has("watch") {
			framed := strings.Contains(response.Header.Get("Content-Type"), "protobuf")
			response.Body = &arrivals{ReadCloser: response.Body, reactions: r, framed: framed}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// arrivals is the body of a watch: a sequence of events.
type arrivals struct {
	io.ReadCloser
	reactions *reactions
	// framed means that events are in protobuf, each after its length. Otherwise they are JSON lines.
	framed bool

	head   [32]byte // The beginning of the current event.
	length int      // The bytes of the event read so far.
	counts bool     // The event counts, unless it is a bookmark.
}

const (
	// bookmark is the type of an event that only reports the progress of the watch. In both encodings it is
	// near the beginning of the event.
	bookmark = "BOOKMARK"
	// frame is the number of bytes of the length of an event.
	frame = 4
)

// Read reads on. An event arrives with its first byte; its type is known later.
func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	for _, b := range p[:n] {
		a.note(b)
	}
	return n, err
}

func (a *arrivals) note(b byte) {
	if a.length == 0 {
		a.counts = a.reactions.noteArrival()
	}
	if a.length < len(a.head) {
		a.head[a.length] = b
	}
	a.length++
	if !a.ended(b) {
		return
	}
	if a.counts && bytes.Contains(a.head[:min(a.length, len(a.head))], []byte(bookmark)) {
		a.reactions.noteBookmark()
	}
	a.length = 0
}

// ended reports whether the event ends with that byte.
func (a *arrivals) ended(b byte) bool {
	if !a.framed {
		return b == '\n'
	}
	return a.length >= frame && a.length == frame+int(binary.BigEndian.Uint32(a.head[:frame]))
}
