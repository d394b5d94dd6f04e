package merge

import (
	"maps"
	"slices"
	"time"
)

// LongestWait is the longest time for which a refused request waits. If a refusal says more, a clock has
// jumped.
const LongestWait = time.Hour

// Refusal is a request that the cloud refused, or whose operation failed. It waits by itself, and all others go
// on.
type Refusal struct {
	Call, Item string
	// Sent has the values that were sent. With other values, it is another request.
	Sent map[string]Text
	// Stale says that the cloud refused it because of its version. With another one, it may be sent at once.
	Stale   bool
	Version string
	// Until is when it may be sent again.
	Until time.Time
}

// Holds reports whether the refusal is about this write, and the write has to wait.
func (r Refusal) Holds(w Write, now time.Time) bool {
	wait := r.Until.Sub(now)
	return r.Is(w) && wait > 0 && wait <= LongestWait && (!r.Stale || r.Version == w.Version)
}

// Is reports whether the refusal is about this write.
func (r Refusal) Is(w Write) bool {
	return r.Call == w.Call && r.Item == w.Item && maps.Equal(r.Sent, w.Sent)
}

// Next returns the first write of a plan that can be sent now; nil if there is none. A write that was refused
// waits, and so does each write whose call comes after such a one.
func (t *Table) Next(writes []Write, refused []Refusal, now time.Time) *Write {
	var waiting []string
	for i, w := range writes {
		held := slices.ContainsFunc(refused, func(r Refusal) bool { return r.Holds(w, now) })
		if !held && !slices.ContainsFunc(t.after(w.Call), func(call string) bool { return slices.Contains(waiting, call) }) {
			return &writes[i]
		}
		waiting = append(waiting, w.Call)
	}
	return nil
}
