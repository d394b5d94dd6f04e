// Package rights knows which kinds a provider does not let the manager read, or does not serve, during one
// connection. Such a kind is switched off: nothing is decided about it, because the cache has no objects of it,
// or old ones.
//
// Code that lists and watches notes each answer. Code that decides calls WhyUnreadable. Notes count a moment
// later: a role that lacks a kind causes several refusals at once, and the message should be the same each time.
package rights

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/gather"
)

// Rights has the missing rights. A nil one lacks nothing.
type Rights struct {
	changed   func()
	debouncer *gather.Debouncer

	mu sync.Mutex
	// refused has the verbs last refused for each resource. settled is a slightly older state of it, for
	// decisions.
	refused, settled map[string][]string
	followers        map[*func()]bool
}

// New returns the Rights of a new connection. changed, if not nil, is called when what is missing changes.
func New(with clock.WithDelayedExecution, changed func()) *Rights {
	r := &Rights{changed: changed, refused: map[string][]string{}, settled: map[string][]string{}, followers: map[*func()]bool{}}
	r.debouncer = gather.New(with, r.Settle)
	return r
}

// Note notes the answer to a verb, such as list, on a resource, such as configmaps. It
// ignores errors that say neither that a right is missing nor that the provider does not
// serve the resource.
func (r *Rights) Note(resource, verb string, err error) {
	switch {
	case isNotServed(err):
		r.note(resource, notServed, true)
	case err == nil || apierrors.IsForbidden(err):
		r.note(resource, verb, err != nil)
	}
}

// isNotServed reports whether an API server does not know the resource of a list or watch. It says so only to
// those who have the right to it. The same holds if the server has another definition of the resource, so that
// an object does not decode into the Go type. One such object must not stop all other kinds.
func isNotServed(err error) bool { return apierrors.IsNotFound(err) || isUndecodable(err) }

func isUndecodable(err error) bool {
	_, isValue := errors.AsType[*json.UnmarshalTypeError](err)
	_, isTime := errors.AsType[*time.ParseError](err)
	return isValue || isTime
}

// notServed stands for all verbs of a resource that the provider does not serve.
const notServed = "not served"

// unanswered stands for the verb of a resource that is not listed in time, for whatever reason.
const unanswered = "list (there is no answer)"

// Unanswered notes whether the provider fails to answer a list of a resource in time. Objects that need the
// resource wait as if the right were missing.
func (r *Rights) Unanswered(resource string, is bool) { r.note(resource, unanswered, is) }

func (r *Rights) note(resource, verb string, missing bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A resource that is not served has no verbs. An answer to a verb says that it is served.
	outdated := func(v string) bool {
		return v == verb || verb != unanswered && (v == notServed || verb == notServed)
	}
	verbs := slices.DeleteFunc(slices.Clone(r.refused[resource]), outdated)
	if missing {
		verbs = append(verbs, verb)
	}
	slices.Sort(verbs)
	if slices.Equal(verbs, r.refused[resource]) {
		return
	}
	r.refused[resource] = verbs
	r.debouncer.Trigger()
}

// Settle makes all earlier notes count.
func (r *Rights) Settle() {
	r.mu.Lock()
	before := r.settled
	r.settled = map[string][]string{}
	for resource, verbs := range r.refused {
		if len(verbs) > 0 {
			r.settled[resource] = verbs
		}
	}
	same := maps.EqualFunc(before, r.settled, slices.Equal)
	followers := slices.Collect(maps.Keys(r.followers))
	r.mu.Unlock()
	if same {
		return
	}
	if r.changed != nil {
		r.changed()
	}
	for _, follower := range followers {
		(*follower)()
	}
}

// WhyUnreadable says why a resource cannot be read.
func (r *Rights) WhyUnreadable(resource string) connection.Unreadable {
	return r.unreadable(func(of string) bool { return of == resource })
}

// All says what cannot be read, in a fixed order.
func (r *Rights) All() connection.Unreadable { return r.unreadable(func(string) bool { return true }) }

func (r *Rights) unreadable(is func(resource string) bool) (lack connection.Unreadable) {
	if r == nil {
		return lack
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var missing, unserved []string
	for _, resource := range slices.Sorted(maps.Keys(r.settled)) {
		switch verbs := r.settled[resource]; {
		case !is(resource):
		case slices.Contains(verbs, notServed):
			unserved = append(unserved, resource)
		default:
			missing = append(missing, strings.Join(verbs, " and ")+" "+resource)
		}
	}
	if len(unserved) > 0 {
		lack = connection.NotServed(strings.Join(unserved, ", "))
	}
	if len(missing) == 0 {
		return lack
	}
	also := lack.What
	lack = connection.RightMissing(strings.Join(missing, ", "))
	if also != "" {
		lack.What += ", and " + also
	}
	return lack
}

// Follow calls the follower whenever the missing rights change, until ctx ends.
func (r *Rights) Follow(ctx context.Context, follower func()) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followers[&follower] = true
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.followers, &follower)
	})
}
