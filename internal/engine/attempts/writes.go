package attempts

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// repeats are the times between equal writes that somebody reverts each time.
var repeats = throttle.Intervals{First: time.Second, Most: 5 * time.Minute}

// existence begins what the creation or deletion of a copy is about.
const existence = "existence in "

// Writes paces writes about one object that are repeated because somebody reverts them. These are patches of
// the same fields of one object to the same values, and of its status by what its copies report. They are also
// creations of a copy that this process has not deleted, and Spillway's labels that somebody removed. The first
// write does not wait.
type Writes []write

// write is the last write about something, and how often in a row it was sent.
type write struct {
	about  string
	change uint64 // A hash of the change.
	times  int
	last   throttle.Last
}

// Wait returns how long an action must wait, and how often the same was done before.
func (w Writes) Wait(a decide.Action, now time.Time) (wait time.Duration, times int) {
	i := w.find(about(a))
	if i < 0 || w[i].change != changeOf(a) { // For most actions, the change need not be computed.
		return 0, 0
	}
	return repeats.Wait(w[i].last, now), w[i].times
}

func (w Writes) find(about string) int {
	return slices.IndexFunc(w, func(found write) bool { return found.about == about })
}

// Add adds an action that was carried out.
func (w *Writes) Add(a decide.Action, now time.Time) {
	about := about(a)
	switch i := w.find(about); {
	case about == "":
	case a.Verb == decide.Delete: // The next creation does not answer somebody else.
		w.drop(func(found string) bool { return found == about })
	default:
		next := write{about: about, change: changeOf(a)}
		if i >= 0 && (*w)[i].change == next.change {
			next = (*w)[i]
		}
		next.times++
		next.last = repeats.Wrote(next.last, now)
		*w = append(slices.DeleteFunc(slices.Clone(*w), func(found write) bool { return found.about == about }), next)
	}
}

// withdraw notes that the consumer withdraws the copies. The next creation does not answer somebody else.
func (w *Writes) withdraw() {
	w.drop(func(found string) bool { return strings.HasPrefix(found, existence) })
}

// drop drops the writes about some things. Copies of the Record keep them.
func (w *Writes) drop(which func(about string) bool) {
	isDropped := func(found write) bool { return which(found.about) }
	if slices.ContainsFunc(*w, isDropped) {
		*w = slices.DeleteFunc(slices.Clone(*w), isDropped)
	}
}

// about returns what a write is about. It is "" if the write is not paced.
func about(a decide.Action) string {
	switch a.Verb { //nolint:exhaustive // All others are made once, or paced otherwise.
	case decide.Create, decide.Delete:
		if a.Side == decide.Remote {
			return existence + a.Object.GetNamespace()
		}
	case decide.Find:
		return "labels of " + field.Location(decide.KeyOf(a.Object))
	case decide.Patch, decide.PatchStatus:
		return fmt.Sprintf("%s %s in the %s %s", a.Verb, field.Location(decide.KeyOf(a.Object)), a.Side, a.Subresource)
	}
	return ""
}

// changeOf returns a hash of a write's change. A digest stands for content, so the hash is the same before the
// content is read.
func changeOf(a decide.Action) uint64 {
	if a.Verb != decide.Patch && a.Verb != decide.PatchStatus {
		return 0
	}
	before, ok1 := field.WithoutContent(a.Before).(client.Object)
	after, ok2 := field.WithoutContent(a.Object).(client.Object)
	if !ok1 || !ok2 {
		return 0
	}
	diff, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return 0
	}
	hash := fnv.New64a()
	_, _ = hash.Write(append(diff, after.GetUID()...)) // It never fails.
	return hash.Sum64()
}
