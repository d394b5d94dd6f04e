package inject

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	// calm is how long the manager must not write before held events are released.
	calm = 300 * time.Millisecond
	// atMost is how long events are held if the manager writes all the time.
	atMost = 3 * time.Second
	// look is how often await checks this.
	look = 10 * time.Millisecond
)

// stream is the body of a watch. Held events stay unread in the source: only a Read does any work, so Close
// leaves nothing running.
type stream struct {
	*frames
	source   io.ReadCloser
	process  *Process
	stream   Stream
	initial  bool // The watch still sends its initial events.
	buffer   bytes.Buffer
	over     bool
	once     sync.Once
	released chan struct{} // Closed by Close.
}

// tamper replaces the body with a stream. It reports an unknown encoding as a problem: otherwise no fault
// would happen in that watch, and the run would pass.
func tamper(t *transport, target requests.Target, response *http.Response) {
	known, ok := framesOf(response.Header.Get("Content-Type"), response.Body)
	if !ok {
		t.process.injector.problem("the watch of %s in %s is encoded as %q, which cannot be tampered with", target.Resource, t.cluster, response.Header.Get("Content-Type"))
		return
	}
	response.Body = &stream{
		frames: known, source: response.Body, process: t.process, stream: Stream{t.cluster, target.Resource},
		initial: target.Initial, released: make(chan struct{}),
	}
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for s.buffer.Len() == 0 {
		if s.over {
			return 0, io.EOF
		}
		frame, kind, err := s.read()
		if err != nil {
			return 0, err
		}
		if err := s.show(frame, kind); err != nil {
			return 0, err
		}
	}
	return s.buffer.Read(p)
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.once.Do(func() { close(s.released) })
	return s.source.Close()
}

// endOfInitial is the annotation of the bookmark that ends the initial events.
var endOfInitial = []byte(metav1.InitialEventsAnnotationKey)

// show writes into the buffer what the manager sees of a frame.
func (s *stream) show(frame []byte, kind watch.EventType) error {
	if s.initial || kind == watch.Bookmark || kind == watch.Error {
		s.initial = s.initial && (kind != watch.Bookmark || !bytes.Contains(frame, endOfInitial))
		return s.write(&s.buffer, frame)
	}
	switch s.process.injector.event(s.stream) {
	case recipe.WatchHold:
		s.await()
	case recipe.WatchDuplicate:
		if err := s.write(&s.buffer, frame); err != nil {
			return err
		}
	case recipe.WatchDrop:
		s.await()
		return s.expire()
	case recipe.WatchGone:
		return s.expire()
	}
	return s.write(&s.buffer, frame)
}

// expire ends the watch with 410, so that the manager lists everything again.
func (s *stream) expire() error {
	s.over = true
	return s.writeError(&s.buffer, gone())
}

// await waits until the manager is at rest. Events that arrive meanwhile stay unread.
func (s *stream) await() {
	limit := time.NewTimer(atMost)
	defer limit.Stop()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	began := time.Now()
	for time.Since(began) < calm || !s.process.injector.quietFor(calm) {
		select {
		case <-ticker.C:
		case <-limit.C:
			return
		case <-s.released:
			return
		case <-s.process.alive.Done():
			return
		}
	}
}

// event counts an event, and returns the fault to apply to it. Holding back and duplicating last until the
// run ends, other faults happen once.
func (i *Injector) event(stream Stream) recipe.Kind {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.armed {
		return ""
	}
	i.events[stream]++
	if next, ok := i.next(); ok && next.Kind.IsWatch() && next.At == stream.point(i.events[stream]) {
		i.fire(next)
		return next.Kind
	}
	for _, fired := range i.fired {
		goesOn := fired.Kind == recipe.WatchHold || fired.Kind == recipe.WatchDuplicate
		if goesOn && fired.At.Signature() == stream.point(0) {
			return fired.Kind
		}
	}
	return ""
}

// point returns the n-th event of the stream.
func (s Stream) point(n int) recipe.Point {
	return recipe.Point{Cluster: s.Cluster, Verb: requests.Watch, Resource: s.Resource, Occurrence: n}
}
