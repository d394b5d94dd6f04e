package attempts

import (
	"slices"
	"strconv"
	"time"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// FirstRetry is how long a refused request waits for its next attempt at first.
const FirstRetry = 5 * time.Second

// retries are the times between the attempts of a refused request.
var retries = throttle.Intervals{First: FirstRetry, Most: 5 * time.Minute, Rest: 10 * time.Minute}

// Refusals has the refused requests about one object: one for each namespace of a copy.
type Refusals []refusal

type refusal struct {
	decide.Refused
	// version is the version of the local object. When it changes, the request is retried at once.
	version string
	// until is when the request may be retried. last is for retries.
	until time.Time
	last  throttle.Last
	// accepted reports that the request was accepted since, and only its interval is left. Somebody who has
	// reverted a change may do so again. The next refusal then waits as long as if this one had been refused.
	accepted bool
}

// Add adds a refused request, and reports whether the refusal is new. For a refusal that may pass, it keeps the
// first text: the text may contain a port or a count, and would be reported again and again.
func (r *Refusals) Add(version string, what decide.Refused, now time.Time) (isNew bool) {
	next, before := refusal{Refused: what, version: version}, refusal{accepted: true}
	i := r.find(what.In)
	if i >= 0 && ((*r)[i].version == version || (*r)[i].accepted) {
		before = (*r)[i]
	}
	isNew = before.accepted || !isSame(&before.Refused, &what)
	if !isNew && what.IsTransient() {
		next.Problem = before.Problem
	}
	next.last = retries.Wrote(before.last, now)
	wait := next.last.Interval
	if what.IsTransient() || what.Verb == decide.Delete {
		wait = min(wait, retry.ServerErrorWait)
	}
	next.until = now.Add(wait)
	r.set(i, next)
	return isNew
}

// find returns the index of the refusal for a namespace, or -1.
func (r Refusals) find(in string) int {
	return slices.IndexFunc(r, func(r refusal) bool { return r.In == in })
}

// set replaces the refusal at i, or adds one if i is negative. Copies of the Record keep the old ones.
func (r *Refusals) set(i int, with refusal) {
	all := slices.Clone(*r)
	if i < 0 {
		all = append(all, with)
	} else {
		all[i] = with
	}
	*r = all
}

func (r *Refusals) drop(which func(refusal) bool) {
	if slices.ContainsFunc(*r, which) {
		*r = slices.DeleteFunc(slices.Clone(*r), which)
	}
}

// isSame reports whether two refusals are the same.
func isSame(r, other *decide.Refused) bool {
	return r.Verb == other.Verb && r.Subresource == other.Subresource && r.Reason == other.Reason && retry.SameError(r.Message, other.Message)
}

// Any reports whether a request is refused.
func (r Refusals) Any() bool {
	return slices.ContainsFunc(r, func(found refusal) bool { return !found.accepted })
}

// Of returns the refusal for that version of the object, in a namespace of the provider, or nil.
func (r Refusals) Of(version, in string, now time.Time) *decide.Refused {
	i := r.find(in)
	if i < 0 || r[i].version != version || r[i].accepted {
		return nil
	}
	what := r[i].Refused
	what.Wait = max(0, r[i].until.Sub(now))
	return &what
}

// OfCopy returns the refusal to create or change the copy in a namespace of the provider, or nil.
func (r Refusals) OfCopy(in string) *decide.Refused {
	for _, found := range r {
		if !found.accepted && (found.Verb == decide.Patch || found.Verb == decide.Create) && (found.In == in || found.In == "") {
			return &found.Refused
		}
	}
	return nil
}

// accepted forgets a refusal if the given action was the refused one.
func (r *Refusals) accepted(verb decide.Verb, in string) {
	i := r.find(in)
	switch {
	case i < 0 || (*r)[i].Verb != verb:
	case verb != decide.Patch:
		r.drop(func(found refusal) bool { return found.In == in })
	default:
		with := (*r)[i]
		with.accepted = true
		r.set(i, with)
	}
}

// retain forgets the refusals for other versions of the object, and intervals that are over.
func (r *Refusals) retain(version string, now time.Time) {
	r.drop(func(found refusal) bool {
		if found.accepted {
			return now.Sub(found.last.At) >= retries.Rest
		}
		return found.version != version
	})
}

// Version changes when a user changes an object. It is the generation, if there is one. A pod's resourceVersion
// would not do: it changes with each status that Spillway writes.
func Version(obj decide.Object) string {
	if generation := obj.GetGeneration(); generation != 0 {
		return string(obj.GetUID()) + "/" + strconv.FormatInt(generation, 10) // Each object begins with generation 1.
	}
	return obj.GetResourceVersion()
}
