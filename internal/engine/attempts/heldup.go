package attempts

import (
	"sync"
	"time"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
)

// heldFor is how long a failed write has taken at least if it was held up. Most often, the API server has waited for
// an admission webhook. If it fails by itself, it says so sooner.
const heldFor = 3 * time.Second

// HeldUp knows in which namespaces of the provider writes of one kind are held up: they fail after a long time. Only a
// few of these are sent at a time, so that the workers of the kind are free for other namespaces. Its zero value knows
// none.
type HeldUp struct {
	mu     sync.Mutex
	said   map[target]string // What was said of the last one.
	trials int               // How many are being sent now.
}

// target is what writes have in common that a webhook may hold up.
type target struct {
	verb      decide.Verb
	namespace string
}

// NotSentError is the error of a write that is not sent, because others like it are held up.
type NotSentError struct{ said string }

func (e *NotSentError) Error() string { return e.said }

// HeldUp makes this count as retry.IsServerError, like the error of those.
func (e *NotSentError) HeldUp() bool { return true }

// Begin is called before a write, and ended after it, with its error and how long it took. Begin returns an error if
// others like it are held up, and most of them are being sent now.
func (h *HeldUp) Begin(verb decide.Verb, namespace string, most int) (ended func(err error, took time.Duration), _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := target{verb, namespace}
	said, isTrial := h.said[of]
	if isTrial && h.trials >= most {
		return nil, &NotSentError{said}
	}
	if isTrial {
		h.trials++
	}
	return func(err error, took time.Duration) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if isTrial {
			h.trials--
		}
		h.note(of, err, took)
	}, nil
}

func (h *HeldUp) note(of target, err error, took time.Duration) {
	switch {
	case retry.IsServerError(err) && took >= heldFor:
		if h.said == nil {
			h.said = map[target]string{}
		}
		h.said[of] = retry.Said(err)
	case err == nil || retry.IsServerError(err) || retry.SaysWhy(err): // It was answered in time.
		delete(h.said, of)
	}
}
