// Package rights knows which kinds a provider does not let us read, during one
// connection. An unreadable kind is switched off: nothing is decided about it, because
// the cache shows nothing of it, or something old.
//
// Those who list and watch note each answer; those who decide ask Lacks. Notes count a
// moment later: a role that lacks a kind causes several refusals at once, and the message
// should be the same each time.
package rights

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/provider/gather"
)

// Rights are the missing ones. A nil one lacks nothing.
type Rights struct {
	changed   func()
	gathering *gather.Gathering

	mu sync.Mutex
	// refused has the verbs last refused for each resource. settled is the same, a moment
	// later, for decisions.
	refused, settled map[string][]string
	followers        map[*func()]bool
}

// New is for a new connection. changed is called when the missing rights change;
// optional.
func New(with clock.WithDelayedExecution, changed func()) *Rights {
	r := &Rights{changed: changed, refused: map[string][]string{}, settled: map[string][]string{}, followers: map[*func()]bool{}}
	r.gathering = gather.New(with, r.Settle)
	return r
}

// Note notes the answer to a verb, such as list, on a resource, such as configmaps. It
// ignores errors that say nothing about rights.
func (r *Rights) Note(resource, verb string, err error) {
	if err == nil || apierrors.IsForbidden(err) {
		r.note(resource, verb, err != nil)
	}
}

// unanswered stands for the verb of a resource that is not listed in time, whatever the reason.
const unanswered = "list (there is no answer)"

// Unanswered notes whether the provider does not answer in time to a list of a resource. What
// needs it waits as if the right were missing.
func (r *Rights) Unanswered(resource string, is bool) { r.note(resource, unanswered, is) }

func (r *Rights) note(resource, verb string, missing bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	verbs := r.refused[resource]
	if slices.Contains(verbs, verb) == missing {
		return
	}
	verbs = slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return v == verb })
	if missing {
		verbs = append(verbs, verb)
	}
	slices.Sort(verbs)
	r.refused[resource] = verbs
	r.gathering.Begin()
}

// Settle makes all notes so far count.
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

// Lacks says which verbs are missing for a resource, such as "list and watch", or "".
func (r *Rights) Lacks(resource string) string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.settled[resource], " and ")
}

// String lists all missing rights, in a fixed order, or "".
func (r *Rights) String() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, resource := range slices.Sorted(maps.Keys(r.settled)) {
		all = append(all, strings.Join(r.settled[resource], " and ")+" "+resource)
	}
	return strings.Join(all, ", ")
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
