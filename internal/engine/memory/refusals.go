package memory

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
)

// How long a refused request waits for its next attempt, at first and at most.
const (
	FirstRetry = 5 * time.Second
	mostRetry  = 5 * time.Minute
)

// Refusals has the requests about objects that API servers have refused.
type Refusals struct {
	backoff *flowcontrol.Backoff

	mu      sync.Mutex
	refused map[types.NamespacedName][]refusal // One for each namespace of a copy.
}

type refusal struct {
	decide.Refused
	// version is the version of the local object. When it changes, the request is retried at once.
	version string
	// until is when the request may be retried.
	until time.Time
}

func newRefusals(clock clock.Clock) *Refusals {
	backoff := flowcontrol.NewBackOff(FirstRetry, mostRetry)
	backoff.Clock = clock
	return &Refusals{backoff: backoff, refused: map[types.NamespacedName][]refusal{}}
}

// Note remembers a refused request, and reports whether it is new. For a refusal that may pass, it keeps the
// first text: the text may contain a port or a count, and would be reported again and again.
func (r *Refusals) Note(key types.NamespacedName, version string, what decide.Refused) (isNews bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(key, what.In)
	isNews = i < 0 || r.refused[key][i].version != version || !isSame(&r.refused[key][i].Refused, &what)
	if !isNews && what.IsTransient() {
		what.Problem = r.refused[key][i].Problem
	}
	now, id := r.backoff.Clock.Now(), backoffID(key, what.In)
	r.backoff.GC() // Of changes that were accepted later.
	r.backoff.Next(id, now)
	wait := r.backoff.Get(id)
	if what.IsTransient() || what.Verb == decide.Delete {
		wait = min(wait, retry.ServerErrorWait)
	}
	r.drop(key, what.In)
	r.refused[key] = append(r.refused[key], refusal{what, version, now.Add(wait)})
	return isNews
}

// find returns the index of the refusal for a namespace, or -1.
func (r *Refusals) find(key types.NamespacedName, in string) int {
	return slices.IndexFunc(r.refused[key], func(r refusal) bool { return r.In == in })
}

// Has reports whether a request for an object is refused.
func (r *Refusals) Has(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.refused[key]) > 0
}

// Any reports whether a request for any object is refused.
func (r *Refusals) Any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.refused) > 0
}

// OfCopy returns the refusal to create or change the copy in a namespace of the provider, or nil.
func (r *Refusals) OfCopy(key types.NamespacedName, in string) *decide.Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, found := range r.refused[key] {
		if (found.Verb == decide.Patch || found.Verb == decide.Create) && (found.In == in || found.In == "") {
			return &found.Refused
		}
	}
	return nil
}

func (r *Refusals) drop(key types.NamespacedName, in string) {
	left := slices.DeleteFunc(r.refused[key], func(r refusal) bool { return r.In == in })
	if r.refused[key] = left; len(left) == 0 {
		delete(r.refused, key)
	}
}

func backoffID(key types.NamespacedName, in string) string { return key.String() + " " + in }

// isSame reports whether two refusals are the same.
func isSame(r, other *decide.Refused) bool {
	return r.Verb == other.Verb && r.Subresource == other.Subresource && r.Reason == other.Reason && retry.SameError(r.Message, other.Message)
}

// Of returns the refusal for that version of an object, in a namespace of the provider, or nil.
func (r *Refusals) Of(key types.NamespacedName, version, in string) *decide.Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(key, in)
	if i < 0 {
		return nil
	}
	found := r.refused[key][i]
	if found.version != version {
		r.reset(key)
		return nil
	}
	what := found.Refused
	what.Wait = max(0, found.until.Sub(r.backoff.Clock.Now()))
	return &what
}

// succeeded forgets a refusal if the given action was the refused one. Somebody who has reverted a change may
// do so again. So, for a while, the next refusal of a change waits as long as if this action had been refused.
func (r *Refusals) succeeded(key types.NamespacedName, verb decide.Verb, in string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.find(key, in); i >= 0 && r.refused[key][i].Verb == verb {
		r.drop(key, in)
		if verb != decide.Patch {
			r.backoff.DeleteEntry(backoffID(key, in))
		}
	}
}

// forget forgets an object that no longer exists.
func (r *Refusals) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset(key)
}

func (r *Refusals) reset(key types.NamespacedName) {
	for _, found := range r.refused[key] {
		r.backoff.DeleteEntry(backoffID(key, found.In))
	}
	delete(r.refused, key)
}
