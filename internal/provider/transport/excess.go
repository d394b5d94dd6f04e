package transport

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/transport/decoded"
)

// ExcessError ends the connection of a provider that sends too much in a way that no single request would
// notice. Classify returns its reason.
type ExcessError struct {
	// Reason and Message are for the condition Connected. The same excess always has the same message.
	Reason, Message string
}

func (e *ExcessError) Error() string { return e.Message }

func tooLarge(format string, args ...any) *ExcessError {
	return &ExcessError{Reason: v1alpha1.ReasonTooLarge, Message: fmt.Sprintf(format, args...)}
}

const (
	// maxPages limits the pages of a list. client-go asks for 500 objects at a time, for as long as the
	// provider names a next page.
	maxPages = 2000
	// restartBurst and restartInterval limit how often lists and watches may begin. Some kinds begin together,
	// and a watch lasts for minutes. client-go restarts a watch at once after a single event, or after 410
	// Gone.
	restartBurst    = 100
	restartInterval = time.Second
)

// sequence is a list in progress, with all its pages so far.
type sequence struct {
	pages int
	size  int64 // Encoded.
	took  int64 // Decoded.
}

// excess limits what many requests do together. A list stays in memory until its last page has arrived, and
// nobody else sees it earlier.
type excess struct {
	limit      int64 // In bytes, for all pages of a list.
	memory     int64 // The same, decoded.
	restarts   *rate.Limiter
	onExceeded func(error)

	mu    sync.Mutex
	lists map[string]*sequence // By path.
}

func newExcess(opts Options) *excess {
	told := opts.Exceeded
	if told == nil {
		told = func(error) {}
	}
	return &excess{
		limit: opts.MaxListBytes, memory: opts.MaxListMemory, onExceeded: told, lists: map[string]*sequence{},
		restarts: rate.NewLimiter(rate.Every(restartInterval), restartBurst),
	}
}

// begin admits a list or a watch, or says why it is one too many.
func (e *excess) begin(req *http.Request, resource string) error {
	if req.URL.Query().Get("continue") != "" {
		e.mu.Lock()
		defer e.mu.Unlock()
		s := e.list(req.URL.Path)
		if s.pages++; s.pages > maxPages {
			return e.report(tooLarge("a list of %s does not end: it has more than %d pages", resource, maxPages))
		}
		return nil
	}
	e.mu.Lock()
	delete(e.lists, req.URL.Path)
	e.mu.Unlock()
	if !e.restarts.Allow() {
		return e.report(&ExcessError{Reason: v1alpha1.ReasonUnreachable,
			Message: "the provider ends lists and watches as soon as they begin, including those of " + resource})
	}
	return nil
}

// read counts the received bytes of a list, and what they take once decoded.
func (e *excess) read(path, resource string, p []byte, meter decoded.Meter) error {
	took, err := meter.Read(p)
	if err != nil {
		return e.report(notMeasured(err, "a list of "+resource))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.list(path)
	s.size += int64(len(p))
	s.took += took
	const cure = "raise spec.budget.memory, or delete unneeded objects in the provider"
	switch {
	case s.size > e.limit:
		return e.report(tooLarge("a list of %s is larger than %s: %s", resource, inMiB(e.limit), cure))
	case s.took > e.memory:
		return e.report(tooLarge("a list of %s takes more than %s of memory: %s", resource, inMiB(e.memory), cure))
	}
	return nil
}

func (e *excess) list(path string) *sequence {
	s, ok := e.lists[path]
	if !ok {
		s = &sequence{}
		e.lists[path] = s
	}
	return s
}

// report passes an error to Exceeded, which can end the connection: the callers of requests
// for caches would only log it and retry.
func (e *excess) report(err error) error {
	e.onExceeded(err)
	return err
}

func inMiB(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
