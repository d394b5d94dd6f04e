package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// stream sends what the page shows, as server-sent events, whenever that changes. The watches run while there are
// streams.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		refuse(w, http.StatusTooManyRequests, fmt.Sprintf("%d pages are open already: close one, and reload this one", mostStreams))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	p := s.live.join(s.ctx) //nolint:contextcheck // Other pages use the same watches.
	defer s.live.leave(p)
	out := &stream{ResponseController: http.NewResponseController(w), to: w, revision: -1}
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-r.Context().Done():
			return
		case <-p.news:
		}
		if err := out.show(s.live); err != nil {
			return
		}
	}
}

// stream is what one page has got so far.
type stream struct {
	*http.ResponseController
	to              http.ResponseWriter
	shown           string
	known, revision int
}

// errFailed ends a stream: the page tries again after a while.
var errFailed = errors.New("there are no watches")

// show sends what the page does not have yet.
func (o *stream) show(l *live) error {
	_, text, failure := l.now()
	if failure != "" {
		says, err := json.Marshal(failure)
		if err == nil {
			err = o.send("failure", says)
		}
		return errors.Join(err, errFailed)
	}
	if text == nil {
		return nil
	}
	past, known, revision, err := l.since(o.known, o.revision)
	if err != nil {
		return err
	}
	o.known, o.revision = known, revision
	if err := o.send("history", past); err != nil {
		return err
	}
	// The list of pods may have changed although the page has not.
	if string(text) == o.shown {
		return o.send("pods", []byte("null"))
	}
	o.shown = string(text)
	return o.send("page", text)
}

// send sends one event. JSON has no line breaks.
func (o *stream) send(event string, data []byte) error {
	const patience = 30 * time.Second
	if err := o.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.to, "event: %s\ndata: %s\n\n", event, data); err != nil {
		return err
	}
	return o.Flush()
}
