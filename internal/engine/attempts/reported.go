package attempts

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// RepeatEvent is the time after which the event of a lasting problem is repeated. API servers keep events for
// an hour.
const RepeatEvent = 20 * time.Minute

// eventRate limits the events of one object: a provider may report another address of a load balancer every
// second.
var eventRate = throttle.Rate{Burst: 10, Interval: time.Minute}

// Topic is what an event is about.
type Topic int

// The topics. A Problem says why an object is not in the provider. A Notice says what its owner should know
// about a copy that is.
const (
	Problem Topic = iota
	Notice
	topics
)

// Reported remembers which events informed the owners of the objects of one kind. It outlives the connection: a
// provider that disconnects and comes back does not repeat an event. Its zero value is empty.
type Reported struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*told
}

// told is what the owner of one object was told.
type told struct {
	last [topics]lastEvent
	used time.Time // For eventRate.
}

// lastEvent is the last event about a topic.
type lastEvent struct {
	field.Problem
	at time.Time
}

func (e *lastEvent) isSame(problem *field.Problem, now time.Time) bool {
	return e.Problem == *problem && now.Sub(e.at) < RepeatEvent
}

// Due reports whether an event is due, and remembers it as created. It is due if it is new, or RepeatEvent has
// passed. If the object has had too many events, it is not due, and Due returns how long it must wait. A nil
// problem ends the last one.
func (r *Reported) Due(key types.NamespacedName, topic Topic, problem *field.Problem, now time.Time) (due bool, wait time.Duration) {
	if problem == nil {
		r.Clear(key, topic)
		return false, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	object := r.of(key)
	last := &object.last[topic]
	if last.isSame(problem, now) {
		return false, 0
	}
	last.Problem = field.Problem{}
	if wait = eventRate.Wait(object.used, now); wait > 0 {
		return false, wait
	}
	*last, object.used = lastEvent{*problem, now}, eventRate.Wrote(object.used, now)
	return true, 0
}

// DueOfRefusal is Due for the problem of a refused request. The retries of the request limit these events enough.
func (r *Reported) DueOfRefusal(key types.NamespacedName, problem field.Problem, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := &r.of(key).last[Problem]
	if last.isSame(&problem, now) {
		return false
	}
	*last = lastEvent{problem, now}
	return true
}

// of returns what the owner of an object was told. The caller has the lock.
func (r *Reported) of(key types.NamespacedName) *told {
	if r.objects == nil {
		r.objects = map[types.NamespacedName]*told{}
	}
	if r.objects[key] == nil {
		r.objects[key] = &told{}
	}
	return r.objects[key]
}

// IsOld reports whether an object has a problem whose event should be repeated.
func (r *Reported) IsOld(key types.NamespacedName, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	object, ok := r.objects[key]
	return ok && object.last[Problem].Problem != field.Problem{} && now.Sub(object.last[Problem].at) >= RepeatEvent
}

// Clear forgets the last problem or notice of an object.
func (r *Reported) Clear(key types.NamespacedName, topic Topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if object, ok := r.objects[key]; ok {
		object.last[topic].Problem = field.Problem{}
	}
}

// Forget forgets an object that no longer exists.
func (r *Reported) Forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.objects, key)
}
