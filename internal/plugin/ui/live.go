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

	// joined has a value when another page has come. Who reloads it wants to see a right that was just granted.
	joined chan struct{}

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

func newLive(s scope) *live {
	return &live{scope: s, pages: map[*page]bool{}, joined: make(chan struct{}, 1)}
}

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
		tell(l.joined)
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

// recheck is how often the rights of the user are read again. No watch tells of them.
const recheck = time.Minute

// run shows each change until ctx ends. It begins anew when the user gets or loses a right.
func (l *live) run(ctx context.Context) {
	rights, err := l.scope.rights(ctx)
	for err == nil && ctx.Err() == nil {
		watching, stop := context.WithCancel(ctx)
		rights, err = l.watch(watching, rights)
		stop()
	}
	if err != nil {
		l.publish(ctx, nil, err)
	}
}

// watch shows each change with these rights, until ctx ends or there are others, which it returns.
func (l *live) watch(ctx context.Context, r *rights) (*rights, error) {
	changed := make(chan struct{}, 1)
	seen, err := l.scope.observe(ctx, r, func() { tell(changed) })
	if err != nil {
		return nil, err
	}
	tell(changed)
	again := time.NewTicker(recheck)
	defer again.Stop()
	for {
		ask := true
		select {
		case <-ctx.Done():
			return r, nil
		case <-again.C:
		case <-l.joined:
		case <-changed:
			ask = false
		}
		if ask {
			if now := l.changes(ctx, seen, r); now != nil {
				return now, nil
			}
		}
		begun := time.Now()
		seen.readManager(ctx)
		next := view.Of(seen.objects(begun))
		if seen.lost {
			l.forget()
			seen.lost = false
		}
		l.publish(ctx, next, nil)
		const rest = 4 // It takes a fifth of one core at most.
		select {
		case <-ctx.Done():
			return r, nil
		case <-time.After(max(gather, rest*time.Since(begun))):
		}
	}
}

// changes returns the rights of the user, if they are others now. The page shows nothing any more that the user may not read.
func (l *live) changes(ctx context.Context, seen *observed, before *rights) *rights {
	seen.unread.Store(true)           // A manager outside of this cluster has no Deployment.
	const patience = 10 * time.Second // The page shows nothing new meanwhile.
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now, err := l.scope.rights(limited)
	if err != nil || now.equal(before) && now.equal(seen.rights) {
		return nil // If the API server does not answer, the notes say so.
	}
	if now.lack(before) {
		l.forget()
	}
	return now
}

// forget forgets how many pods there were: the user may not read of them any more.
func (l *live) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.Forget()
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
