package attempts

import (
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/retry"
)

// heldFor is how long a failed write has taken at least if it was held up. Most often, the API server has waited for
// an admission webhook. If it fails by itself, it says so sooner.
const heldFor = 3 * time.Second

// mostSaid is how many characters of an error are kept. The provider chooses how long it is.
const mostSaid = 512

// HeldUp knows in which namespaces of the provider writes of one kind are held up: they fail after a long time. Only a
// few of these are sent at a time, so that the workers of the kind are free for other namespaces. Its zero value knows
// none.
type HeldUp struct {
	mu      sync.Mutex
	held    map[target]*held
	sending int // How many of these are being sent now.
}

// target is what writes have in common that a webhook may hold up.
type target struct {
	verb      decide.Verb
	namespace string
}

type held struct {
	said    string // Of the last one.
	sending int
}

// NotSentError is the error of a write that is not sent, because others like it are held up.
type NotSentError struct{ said string }

func (e *NotSentError) Error() string { return e.said }

// HeldUp makes this count as retry.IsServerError, like the error of those.
func (e *NotSentError) HeldUp() bool { return true }

// Begin is called before a write, and ended after it, with its error and how long it took. Begin returns an error if
// others like it are held up, and as many of them are being sent now as may be. Verbs and namespaces share most, and each
// may send one; all of them together may send twice as many.
func (h *HeldUp) Begin(verb decide.Verb, namespace string, most int) (ended func(err error, took time.Duration), _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	of := target{verb, namespace}
	trial := h.held[of]
	if trial != nil {
		if trial.sending >= max(1, most/len(h.held)) || h.sending >= 2*most {
			return nil, &NotSentError{trial.said}
		}
		trial.sending++
		h.sending++
	}
	return func(err error, took time.Duration) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if trial != nil {
			trial.sending--
			h.sending--
		}
		h.note(of, err, took)
	}, nil
}

func (h *HeldUp) note(of target, err error, took time.Duration) {
	var status apierrors.APIStatus
	switch {
	case retry.IsServerError(err) && took >= heldFor:
		if h.held == nil {
			h.held = map[target]*held{}
		}
		if h.held[of] == nil {
			h.held[of] = &held{}
		}
		h.held[of].said = text.Bound(retry.Said(err), mostSaid)
	case err == nil || took < heldFor && errors.As(err, &status): // It was made, or answered in time.
		delete(h.held, of)
	}
}
