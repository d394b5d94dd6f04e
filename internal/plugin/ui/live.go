package ui

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

// gather is how long changes are gathered, at least.
const gather = 250 * time.Millisecond

// live has one set of watches for all pages of the process. It begins with the first page, and ends with the last.
type live struct {
	scope scope

	mu      sync.Mutex
	pages   map[*page]bool
	stop    context.CancelFunc
	history view.History
	// last is what the pages show; nil until something is known. text is its Page as JSON.
	last *view.Snapshot
	text []byte
	// failure says why there are no watches.
	failure string
}

// page is one open page. news has a value when there is something new.
type page struct{ news chan struct{} }

func newLive(s scope) *live { return &live{scope: s, pages: map[*page]bool{}} }

// join adds a page, and starts the watches for the first one.
func (l *live) join(ctx context.Context) *page {
	p := &page{news: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages[p] = true
	if len(l.pages) == 1 {
		var running context.Context
		running, l.stop = context.WithCancel(ctx)
		go l.run(running)
	} else {
		tell(p.news)
	}
	return p
}

// leave removes a page, and ends the watches with the last one.
func (l *live) leave(p *page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, p)
	if len(l.pages) == 0 {
		l.stop()
		l.last, l.text, l.failure = nil, nil, ""
		l.history.Pause(time.Now())
	}
}

// run shows each change until ctx ends.
func (l *live) run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	seen, err := l.scope.observe(ctx, func() { tell(changed) })
	if err != nil {
		l.publish(ctx, nil, err)
		return
	}
	tell(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		begun := time.Now()
		l.publish(ctx, view.Of(seen.objects(begun)), nil)
		const rest = 4 // It takes a fifth of one core at most.
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(gather, rest*time.Since(begun))):
		}
	}
}

// publish makes a snapshot the one that the pages show.
func (l *live) publish(ctx context.Context, next *view.Snapshot, failure error) {
	var text []byte
	if failure == nil {
		text, failure = json.Marshal(next.Page)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return // The last page has left.
	}
	if failure != nil {
		l.failure = failure.Error()
	} else {
		l.last, l.text = next, text
		l.history.Add(next.At(), next.Places)
	}
	for p := range l.pages {
		tell(p.news)
	}
}

// now returns what the pages show.
func (l *live) now() (last *view.Snapshot, text []byte, failure string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.text, l.failure
}

// samples are the samples from number From on. The page keeps those before.
type samples struct {
	From    int           `json:"from"`
	Samples []view.Sample `json:"samples"`
}

// since returns the samples that a page lacks that has the first known ones, of that revision.
func (l *live) since(known, revision int) (text []byte, total, now int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := known - 1 // The last one may have changed.
	if revision != l.history.Revision {
		from = 0
	}
	from = min(max(from, 0), len(l.history.Samples))
	text, err = json.Marshal(samples{from, append([]view.Sample{}, l.history.Samples[from:]...)})
	return text, len(l.history.Samples), l.history.Revision, err
}

func tell(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
