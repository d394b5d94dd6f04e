// Package inject records the writes of a manager, and injects the faults of a recipe into its requests and
// watches. It does so in the manager's transports.
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
// The manager runs in the process of the test, so a crash cannot kill it. Instead, its transports die: they
// abort every request in flight and fail every later one at once. The next manager gets new transports. The
// Injector keeps its list: occurrences count over all managers of a run.
package inject

import (
	"fmt"
	"sync"
	"time"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

// Hooks are called when a fault needs more than the transport. Goroutines of the manager call them, so a hook
// must not wait until the manager ends.
type Hooks struct {
	// OnCrash is called when the manager has crashed.
	OnCrash func()
	// OnCut disconnects the cluster. The request is sent when it returns.
	OnCut func(cluster string, kind recipe.Kind)
	// OnNotFound removes the object that a manager is about to delete, because an API server answers NotFound
	// only for a missing object. If the hook is nil, and for all other requests, the Injector makes the
	// answer up.
	OnNotFound func(cluster string, target requests.Target)
	// Mask removes from a name what differs between lanes. Default: it changes nothing.
	Mask func(name string) string
}

// logged is how many of the last requests are kept for reports.
const logged = 60

// Injector injects faults and records writes. Create it with New.
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
	// problems are errors of the injector itself.
	problems []string

	inFlight  int
	lastWrite time.Time
}

// Stream stands for all watches of one resource in one cluster.
type Stream struct{ Cluster, Resource string }

// Firing is a fault that has happened.
type Firing struct {
	recipe.Fault
	// Points is how many points came before the fault, including its own.
	Points int
}

// New returns an Injector that injects nothing and has recorded nothing.
func New(hooks Hooks) *Injector {
	if hooks.Mask == nil {
		hooks.Mask = func(name string) string { return name }
	}
	return &Injector{hooks: hooks, began: time.Now(), seen: map[recipe.Point]int{}, events: map[Stream]int{}}
}

// Arm starts counting occurrences. The faults of the recipe then happen in their order, each once.
func (i *Injector) Arm(r recipe.Recipe) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.armed, i.recipe, i.fired, i.points, i.times = true, r, nil, nil, nil
	clear(i.seen)
	clear(i.events)
	i.note("armed: " + r.String())
}

// Points returns the requests since Arm that may have changed something, in the order in which they were
// sent. Lease renewals, events and dry runs are left out.
func (i *Injector) Points() []recipe.Point {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]recipe.Point{}, i.points...)
}

// Times returns when each of Points was about to be sent.
func (i *Injector) Times() []time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]time.Time{}, i.times...)
}

// Problems returns why the injector could not do its work.
func (i *Injector) Problems() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.problems...)
}

// problem records a problem.
func (i *Injector) problem(format string, args ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.problems = append(i.problems, fmt.Sprintf(format, args...))
}

// Events returns the number of events of each watched resource since Arm, without the initial events of a
// watch.
func (i *Injector) Events() map[Stream]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := map[Stream]int{}
	for stream, n := range i.events {
		events[stream] = n
	}
	return events
}

// Fired returns the faults of the recipe that have happened.
func (i *Injector) Fired() []Firing {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Firing{}, i.fired...)
}

// LastWrite returns when the last write began or ended: now while one is in flight, zero if there was none.
func (i *Injector) LastWrite() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.inFlight > 0 {
		return time.Now()
	}
	return i.lastWrite
}

// Log returns the last requests for a report, without periodic ones.
func (i *Injector) Log() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string{}, i.log...)
}

// begin records a write, and returns the fault to inject at it.
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

// signature returns the point of a request, without its occurrence.
func (i *Injector) signature(cluster string, target requests.Target) recipe.Point {
	return recipe.Point{
		Cluster: cluster, Verb: target.Verb, Resource: target.Resource, Subresource: target.Subresource,
		Namespace: i.hooks.Mask(target.Namespace), Name: i.hooks.Mask(target.Name),
	}
}

// end records the end of a write.
func (i *Injector) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inFlight--
	i.lastWrite = time.Now()
}

// next returns the armed fault. The caller holds the lock.
func (i *Injector) next() (recipe.Fault, bool) {
	if !i.armed || len(i.fired) == len(i.recipe) {
		return recipe.Fault{}, false
	}
	return i.recipe[len(i.fired)], true
}

// fire records that a fault happens. The caller holds the lock.
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

// note adds a line to the log. The caller holds the lock.
func (i *Injector) note(line string) {
	i.log = append(i.log, fmt.Sprintf("%7.3f %s", time.Since(i.began).Seconds(), line))
	if len(i.log) > logged {
		i.log = i.log[len(i.log)-logged:]
	}
}

// quietFor reports whether the manager has written nothing for the duration d.
func (i *Injector) quietFor(d time.Duration) bool { return time.Since(i.LastWrite()) >= d }

// Note adds a line to the log.
func (i *Injector) Note(line string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.note(line)
}
