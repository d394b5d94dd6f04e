// Package rights knows which kinds a provider does not let us read, during one
// connection. A kind that cannot be read is switched off: nothing is decided about
// it, because what the cache shows of it is nothing, or old.
//
// Who lists and watches notes each answer; who decides asks Lacks. What is noted
// counts a moment later: a role that lacks a kind makes several refusals at once,
// and the message should be the same each time.
package rights

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/gather"
)

// Rights are those that are missing. A nil one lacks nothing.
type Rights struct {
	changed   func()
	gathering *gather.Gathering

	mu sync.Mutex
	// refused has, for each resource, the verbs that were refused last. settled is
	// the same, a moment later: decisions look at that.
	refused, settled map[string][]string
	followers        map[*func()]bool
}

// New is for a connection that begins. changed is called when something else is
// missing than before; optional.
func New(with clock.WithDelayedExecution, changed func()) *Rights {
	r := &Rights{changed: changed, refused: map[string][]string{}, settled: map[string][]string{}, followers: map[*func()]bool{}}
	r.gathering = gather.New(with, r.Settle)
	return r
}

// Note notes the answer to a verb, such as list, on a resource, such as configmaps.
// An error that says nothing about rights changes nothing.
func (r *Rights) Note(resource, verb string, err error) {
	if r == nil || err != nil && !apierrors.IsForbidden(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	verbs := r.refused[resource]
	if slices.Contains(verbs, verb) == (err != nil) {
		return
	}
	verbs = slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return v == verb })
	if err != nil {
		verbs = append(verbs, verb)
	}
	slices.Sort(verbs)
	r.refused[resource] = verbs
	r.gathering.Begin()
}

// Settle makes what was noted so far count.
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

// Lacks says in words which verbs are missing for a resource, such as "list and
// watch", or "" if none is.
func (r *Rights) Lacks(resource string) string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.settled[resource], " and ")
}

// String lists all that is missing, in a fixed order, or "".
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

// Follow calls the follower whenever something else is missing than before, until
// ctx ends.
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
