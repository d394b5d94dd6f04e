// Package inject records what a manager writes, and injects the faults of a
// recipe into its requests and watches, from within its transports.
//
// # Usage
//
//	injector := inject.New(inject.Hooks{OnCrash: restart, OnCut: cut})
//	process := injector.Process() // one for each manager
//	… process.WrapNamed wraps the transports of the manager …
//	injector.Arm(recipe)
//	… what users do …
//	injector.Points() // what the manager has written since
//
// # Implementation
//
// A manager that has crashed cannot be killed, because it runs in the process of
// the test. Its transports are dead instead: what is under way is given up,
// and every later request fails at once, so that it changes nothing any more.
// The next manager gets transports of its own, and the Injector goes on with
// its list: occurrences count over all managers of a run.
package inject

import (
	"fmt"
	"sync"
	"time"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

// Hooks are called when a fault needs more than the transport. They are called
// by goroutines of the manager, and must not wait for its end.
type Hooks struct {
	// OnCrash is called when the manager has crashed.
	OnCrash func()
	// OnCut is to cut the cluster off; the request is sent when it returns.
	OnCut func(cluster string, kind recipe.Kind)
	// OnNotFound is to remove the object that a manager is about to delete: an API
	// server says that something is not found only if it is not there. Without
	// it, and for all other requests, the answer is made up.
	OnNotFound func(cluster string, target requests.Target)
	// Mask takes out of a name what differs from lane to lane. Default: nothing.
	Mask func(name string) string
}

// logged is how many of the last requests are kept for reports.
const logged = 60

// Injector does. Create it with New.
type Injector struct {
	hooks Hooks

	mu     sync.Mutex
	armed  bool
	recipe recipe.Recipe
	fired  []Firing
	seen   map[recipe.Point]int // by signature
	points []recipe.Point
	times  []time.Time // when each of them began
	events map[Stream]int
	log    []string
	began  time.Time
	// problems are the injector's own.
	problems []string

	inFlight  int
	lastWrite time.Time
}

// Stream is all watches of a resource of a cluster.
type Stream struct{ Cluster, Resource string }

// Firing is a fault that has happened.
type Firing struct {
	recipe.Fault
	// Points is how many of Points came before or at the fault.
	Points int
}

// New returns an Injector that injects nothing and has recorded nothing.
func New(hooks Hooks) *Injector {
	if hooks.Mask == nil {
		hooks.Mask = func(name string) string { return name }
	}
	return &Injector{hooks: hooks, began: time.Now(), seen: map[recipe.Point]int{}, events: map[Stream]int{}}
}

// Arm starts counting occurrences, and has the faults of the recipe happen, each
// once, in their order.
func (i *Injector) Arm(r recipe.Recipe) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.armed, i.recipe, i.fired, i.points, i.times = true, r, nil, nil, nil
	clear(i.seen)
	clear(i.events)
	i.note("armed: " + r.String())
}

// Points are the requests since Arm that may have changed something, in the
// order in which they were made. Renewals of leases, events and dry runs are not among them.
func (i *Injector) Points() []recipe.Point {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]recipe.Point{}, i.points...)
}

// Times is when each of Points was about to be sent.
func (i *Injector) Times() []time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]time.Time{}, i.times...)
}

// Problems are what keeps the injector from doing what it is for.
func (i *Injector) Problems() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.problems...)
}

// problem notes one.
func (i *Injector) problem(format string, args ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.problems = append(i.problems, fmt.Sprintf(format, args...))
}

// Events is how many events each watched resource has had since Arm, without
// those with which a watch begins.
func (i *Injector) Events() map[Stream]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := map[Stream]int{}
	for stream, n := range i.events {
		events[stream] = n
	}
	return events
}

// Fired are the faults of the recipe that have happened.
func (i *Injector) Fired() []Firing {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Firing{}, i.fired...)
}

// LastWrite is when the last write began or ended; zero if there was none.
func (i *Injector) LastWrite() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inFlight > 0 {
		return time.Now()
	}
	return i.lastWrite
}

// Log is the last requests but those that go on as time goes by, for a report.
func (i *Injector) Log() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.log...)
}

// begin notes a write, and returns the fault that is to happen at it.
func (i *Injector) begin(cluster string, target requests.Target) (recipe.Kind, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inFlight++
	i.lastWrite = time.Now()
	if !i.armed {
		return "", false
	}
	point := i.signature(cluster, target)
	i.seen[point]++
	point.Occurrence = i.seen[point]
	i.points = append(i.points, point)
	i.times = append(i.times, i.lastWrite)
	if next, ok := i.next(); ok && next.At == point {
		i.fire(next)
		return next.Kind, true
	}
	return "", false
}

// signature is the point of a request, without its occurrence.
func (i *Injector) signature(cluster string, target requests.Target) recipe.Point {
	return recipe.Point{
		Cluster: cluster, Verb: target.Verb, Resource: target.Resource, Subresource: target.Subresource,
		Namespace: i.hooks.Mask(target.Namespace), Name: i.hooks.Mask(target.Name),
	}
}

// end notes that a write is over.
func (i *Injector) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inFlight--
	i.lastWrite = time.Now()
}

// next is the fault that is armed. The lock is held.
func (i *Injector) next() (recipe.Fault, bool) {
	if !i.armed || len(i.fired) == len(i.recipe) {
		return recipe.Fault{}, false
	}
	return i.recipe[len(i.fired)], true
}

// fire notes that a fault happens. The lock is held.
func (i *Injector) fire(fault recipe.Fault) {
	i.fired = append(i.fired, Firing{fault, len(i.points)})
	i.note("FAULT " + fault.String())
}

// noteAnswer adds a request to the log.
func (i *Injector) noteAnswer(cluster string, target requests.Target, outcome string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	point := i.signature(cluster, target)
	point.Occurrence = max(1, i.seen[point])
	i.note(point.String() + " → " + outcome)
}

// note adds a line to the log. The lock is held.
func (i *Injector) note(line string) {
	i.log = append(i.log, fmt.Sprintf("%7.3f %s", time.Since(i.began).Seconds(), line))
	if len(i.log) > logged {
		i.log = i.log[len(i.log)-logged:]
	}
}

// quietFor reports whether no write was made for so long.
func (i *Injector) quietFor(d time.Duration) bool { return time.Since(i.LastWrite()) >= d }

// Note adds a line to the log.
func (i *Injector) Note(line string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.note(line)
}
