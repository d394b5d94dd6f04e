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

// Held is what the writes of a plan may have to wait for.
type Held struct {
	Refused []Refusal
	// Troubled has the paths of items that the cloud has, and that do not work. For example, the cloud has
	// accepted a pool, and then failed to create its nodes.
	Troubled []string
	// Changing has the paths of the items that the cloud is changing, and "" if it is changing the cluster itself.
	Changing []string
	Now      time.Time
}

// Wait says why a write cannot be sent now. It is zero if the write can be sent.
type Wait struct {
	// Refused: the write itself was refused, and is not due yet.
	Refused bool
	// Busy: the cloud does something else first.
	Busy bool
	// For names what the write must not overtake.
	For string
}

// Next returns the first write of a plan that can be sent now; nil if there is none.
func (t *Table) Next(plan Plan, held Held) *Write {
	i := slices.Index(t.Waits(plan, held), Wait{})
	if i < 0 {
		return nil
	}
	return &plan.Writes[i]
}

// Waits returns for each write of a plan why it has to wait. A write that was refused waits by itself. A write
// whose call comes after others waits, too, while one of those waits, or while an item that the spec has does
// not work or is missing in the cloud. An item that the spec does not have holds up nothing: it is to be deleted
// itself.
//
// While the cloud is changing something, only requests for other items are sent, and only if the cloud can carry them
// out at the same time. They do not overtake a request that waits for all items: a version of the cluster comes before
// those of its pools.
func (t *Table) Waits(plan Plan, held Held) []Wait {
	waits := make([]Wait, len(plan.Writes))
	behind := false
	for i, w := range plan.Writes {
		waits[i].Refused = slices.ContainsFunc(held.Refused, func(r Refusal) bool { return r.Holds(w, held.Now) })
		waits[i].Busy = behind || held.blocks(w, t.Parallel(w.Call))
		behind = behind || waits[i] == (Wait{Busy: true}) && !t.Parallel(w.Call)
		after := t.Call(w.Call).After
		if len(after) == 0 {
			continue
		}
		if j := slices.IndexFunc(held.Troubled, plan.wants); j >= 0 {
			waits[i].For = held.Troubled[j] + " does not work yet"
		}
		if j := slices.IndexFunc(held.Changing, plan.wants); j >= 0 {
			waits[i].For = held.Changing[j] + " is being changed"
		}
		if item := plan.lacks(after); item != "" {
			waits[i].For = item + " is in the spec, and the cloud does not have it: remove it from the spec, or change one of its fields to create it again"
		}
		for j, before := range plan.Writes[:i] {
			if waits[j].Refused && slices.Contains(after, before.Call) {
				waits[i].For = before.Call + " " + before.Item + " was refused"
			}
		}
	}
	return waits
}

// blocks reports whether a write has to wait until the cloud has changed something else.
func (h Held) blocks(w Write, parallel bool) bool {
	if !parallel || w.Item == "" {
		return len(h.Changing) > 0
	}
	return slices.Contains(h.Changing, "") || slices.Contains(h.Changing, w.Item)
}

// lacks returns an item that the spec has, the cloud does not have, and none of these calls creates. For example,
// somebody has deleted it in the cloud.
func (p Plan) lacks(calls []string) string {
	for _, l := range p.Leaves {
		created := slices.ContainsFunc(p.Writes, func(w Write) bool { return w.Item == l.Path && slices.Contains(calls, w.Call) })
		if l.Item && l.Spec != Null && l.Upstream == Null && !created {
			return l.Path
		}
	}
	return ""
}

// wants reports whether the spec has an item.
func (p Plan) wants(item string) bool {
	return slices.ContainsFunc(p.Leaves, func(l Leaf) bool { return l.Path == item && l.Spec != Null })
}
