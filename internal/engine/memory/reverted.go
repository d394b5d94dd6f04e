package memory

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// How long a write waits that somebody has reverted, at first and at most.
const (
	firstRepeat = time.Second
	mostRedo    = 5 * time.Minute
)

// existence begins what the creation or deletion of a copy is about.
const existence = "existence in "

// Reverted paces writes that are repeated because somebody reverts them. These are patches of the same fields of
// one object to the same values, and of its status by what its copies report. They are also creations of a copy
// that this process has not deleted, and Spillway's labels that somebody removed. The first write does not
// wait.
type Reverted struct {
	pace *throttle.Pacer

	mu   sync.Mutex
	last map[types.NamespacedName]map[string]done // By what the write is about.
}

// done is the last write, and how often in a row it was sent.
type done struct {
	change uint64 // A hash of the change.
	times  int
}

func newReverted(clock clock.PassiveClock) *Reverted {
	return &Reverted{pace: throttle.New(firstRepeat, mostRedo, clock), last: map[types.NamespacedName]map[string]done{}}
}

// Wait returns how long an action must wait, and how often the same was done before.
func (u *Reverted) Wait(key types.NamespacedName, a decide.Action) (wait time.Duration, times int) {
	if !u.knows(key) {
		return 0, 0 // For most objects, the change need not be computed.
	}
	about, change := written(a)
	u.mu.Lock()
	defer u.mu.Unlock()
	last, ok := u.last[key][about]
	if !ok || last.change != change {
		return 0, 0
	}
	return u.pace.Wait(id(key, about)), last.times
}

func (u *Reverted) knows(key types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.last[key]) > 0
}

// NoteWrite notes that an action was carried out.
func (u *Reverted) NoteWrite(key types.NamespacedName, a decide.Action) {
	about, change := written(a)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch last, ok := u.last[key][about]; {
	case a.Verb == decide.Delete: // The next creation does not answer somebody else.
		delete(u.last[key], about)
		u.pace.Forget(id(key, about))
		return
	case about == "":
		return
	case !ok || last.change != change:
		u.pace.Forget(id(key, about))
		u.note(key, about, done{change, 1})
	default:
		u.note(key, about, done{change, last.times + 1})
	}
	u.pace.Wrote(id(key, about))
}

// Withdrawn notes that the consumer withdraws the copies of an object, perhaps with their namespaces, which
// takes no request per copy. So the next creation does not answer somebody else.
func (u *Reverted) Withdrawn(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for about := range u.last[key] {
		if strings.HasPrefix(about, existence) {
			delete(u.last[key], about)
			u.pace.Forget(id(key, about))
		}
	}
}

func (u *Reverted) note(key types.NamespacedName, about string, what done) {
	if u.last[key] == nil {
		u.last[key] = map[string]done{}
	}
	u.last[key][about] = what
}

func (u *Reverted) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for about := range u.last[key] {
		u.pace.Forget(id(key, about))
	}
	delete(u.last, key)
}

func id(key types.NamespacedName, about string) string { return key.String() + " " + about }

// written returns what a write is about, and a hash of its change. about is "" if the write is not paced. A
// digest stands for content, so the hash is the same before the content is read.
func written(a decide.Action) (about string, change uint64) {
	switch a.Verb { //nolint:exhaustive // All others are made once, or paced otherwise.
	case decide.Create, decide.Delete:
		if a.Side == decide.Remote {
			about = existence + a.Object.GetNamespace()
		}
	case decide.Find:
		about = "labels of " + field.Location(decide.KeyOf(a.Object))
	case decide.Patch, decide.PatchStatus:
		about = fmt.Sprintf("%s %s in the %s %s", a.Verb, field.Location(decide.KeyOf(a.Object)), a.Side, a.Subresource)
		before, ok1 := field.WithoutContent(a.Before).(client.Object)
		after, ok2 := field.WithoutContent(a.Object).(client.Object)
		if !ok1 || !ok2 {
			return "", 0
		}
		diff, err := client.MergeFrom(before).Data(after)
		if err != nil {
			return "", 0
		}
		hash := fnv.New64a()
		_, _ = hash.Write(append(diff, after.GetUID()...)) // It never fails.
		change = hash.Sum64()
	}
	return about, change
}
