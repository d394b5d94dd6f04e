package merge

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Input is everything that Merge knows.
type Input struct {
	Table *Table
	// Spec and Upstream are the configurations of both sides, in their JSON form.
	Spec, Upstream map[string]any
	// Complete says that all of Upstream could be read. Otherwise nothing is decided.
	Complete bool
	// Versions are the cloud's versions of Upstream, by path of an item, and at "" for the cluster. A request
	// has the version of what it changes.
	Versions map[string]string
	// Published is the latest Upstream that users could see; nil if they never could.
	Published map[string]any
	// Base is what both sides last agreed on, by path.
	Base map[string]Base
	// Changing has the paths of the items that the cloud is changing. What it has of them may be half of a change,
	// so Upstream must have them as Published. They are left as the previous merge had them.
	Changing []string
	// Sent is what was sent since Base was stored, by path, unless the cloud has certainly refused it.
	// Upstream must be newer.
	Sent map[string]Text
	// Tried is what was sent by operations that have failed since, by path. A part of it may have taken effect.
	Tried map[string]Text
	// Conflicts are the conflicts of the previous merge.
	Conflicts []OpenConflict
	// Stored is what else was stored of the previous merge.
	Stored   Stored
	Policies Policies
	Now      time.Time
}

// Policies are the policies of a cluster.
type Policies struct {
	Policy
	// Overrides are policies by path. Each holds for that path and all below it; the longest path wins.
	Overrides map[string]Policy
	// Exclusive deletes items, such as pools, that a list in the spec does not have.
	Exclusive   bool
	Resolutions []Resolution
}

// Resolution resolves one conflict. It has no effect on a later one.
type Resolution struct {
	Path string
	Take Side
	// Hash is the hash of the conflict.
	Hash string
}

// Base is what both sides had when they last agreed.
type Base struct {
	// SpecSet is false if the spec did not set the field then.
	SpecSet        bool
	Spec, Upstream Text
}

// OpenConflict is a leaf that both sides have changed.
type OpenConflict struct {
	Path string
	// Base is what the cloud had when both sides last agreed.
	Base           Text
	Spec, Upstream Text
	// Hash identifies this conflict. A later conflict with the same values has another hash.
	Hash  string
	Since time.Time
}

// Decision is about a value that is overwritten although its author did not know. It must be stored before
// any request of the same Plan is sent.
type Decision struct {
	Path string
	// Take is the side that won, with the value Kept. Lost is the value of the other side.
	Take       Side
	Kept, Lost Text
	Time       time.Time
	// Noted says that this decision is stored already, because its write was not done since.
	Noted bool
	// Again says that the cloud overwrites a value again that it has overwritten before, because the cloud has changed
	// again. The latest decision about this leaf then gets the new value that is kept.
	Again bool
}

// Leaf is a field that the spec sets.
type Leaf struct {
	Path  string
	State State
	// Spec and Upstream are the values of both sides.
	Spec, Upstream Text
	// Item says that the leaf is the existence of an item, such as a pool.
	Item bool
}

// Plan is what to do. First store Base, Conflicts and Decisions, together with the Upstream from which they
// were computed. Then send the Writes and the SpecWrites.
type Plan struct {
	// Decided is false if Upstream was not complete. Then the Plan is empty.
	Decided   bool
	Leaves    []Leaf
	Base      map[string]Base
	Conflicts []OpenConflict
	Decisions []Decision
	// Stale has the paths of resolutions that match no conflict.
	Stale []string
	// Writes are the requests to the cloud, in order.
	Writes []Write
	// SpecWrites are new values for the spec, by path. Null removes a value.
	SpecWrites map[string]any
	// Effective is Upstream with the fields that the spec sets, except those that the cloud's values have
	// superseded.
	Effective map[string]any
}

// Merge decides about all leaves.
func Merge(in Input) Plan {
	if !in.Complete {
		return Plan{}
	}
	m := newMerger(in)
	for _, leaf := range m.managed() {
		switch {
		case m.waitsForItem(leaf):
		case m.changing(leaf):
			m.leave(leaf)
		default:
			m.decide(leaf)
		}
	}
	m.plan.Writes = m.writes()
	m.plan.Effective = in.Table.build(m.effective)
	m.plan.Stale = m.resolutions.stale()
	return m.plan
}

// merger makes the plan.
type merger struct {
	sides
	resolutions resolutions
	effective   *leaves
	pushed      []*leaf
	plan        Plan
}

func newMerger(in Input) *merger {
	m := &merger{
		sides:       sides{in: in, spec: in.Table.read(in.Spec), upstream: in.Table.read(in.Upstream)},
		resolutions: resolutions{in.Policies.Resolutions, map[int]bool{}},
	}
	m.effective = &leaves{at: maps.Clone(m.upstream.at), sets: maps.Clone(m.upstream.sets)}
	if in.Published != nil {
		m.published = in.Table.read(in.Published)
	}
	m.plan = Plan{Decided: true, Base: map[string]Base{}, SpecWrites: map[string]any{}}
	for path, list := range m.spec.sets {
		m.effective.sets[path] = list
		if m.owned(list.field) {
			// From now on, an addition to the list is a change in the cloud.
			m.plan.Base[path] = Base{true, Null, Null}
		}
	}
	return m
}

func (m *merger) decide(leaf *leaf) {
	base := m.baseOf(leaf)
	v := m.view(leaf, base)
	upstream := m.upstream.text(leaf.path)
	hash, since := m.conflict(leaf, base)
	v.resolved = m.resolutions.of(leaf.path, hash, v)
	verdict := decide(v, m.in.Policies.of(leaf.path))
	m.plan.Leaves = append(m.plan.Leaves, Leaf{leaf.path, verdict.state, leaf.text, upstream, leaf.exists})
	m.keep(leaf, v, verdict.state, base)
	switch verdict.state {
	case Pushed:
		m.pushed = append(m.pushed, leaf)
	case WrittenBack:
		m.writeBack(leaf)
	}
	if v.spec && v.upstream && slices.Contains([]State{Conflict, Pushed, WrittenBack}, verdict.state) {
		// The conflict stays open until the write is done. If the write is refused, the next merge decides
		// the same.
		m.plan.Conflicts = append(m.plan.Conflicts, OpenConflict{leaf.path, base.Upstream, leaf.text, upstream, hash, since})
	}
	if verdict.overwrites {
		d := Decision{Path: leaf.path, Take: Upstream, Kept: upstream, Lost: leaf.text, Time: m.in.Now}
		if verdict.state == Pushed {
			d.Take, d.Kept, d.Lost = Spec, leaf.text, upstream
		}
		d.Noted, d.Again = m.noted(d), m.again(d, verdict.state)
		m.plan.Decisions = append(m.plan.Decisions, d)
	}
}

// keep stores the base for the next comparison, and the effective value.
func (m *merger) keep(leaf *leaf, v view, state State, base Base) {
	switch state {
	case Agreed, Superseded, ImmutableDiffers:
		base = Base{true, leaf.text, m.upstream.text(leaf.path)}
	case Pushed:
		if v.spec {
			// The spec does not count as agreed any more, even if it gets its old value back: then its author
			// wants that one.
			base.SpecSet, base.Spec = false, Null
		}
	}
	m.plan.Base[leaf.path] = base
	m.keepItem(leaf, state)
	m.takeEffect(leaf, state)
}

// takeEffect sets the effective value.
func (m *merger) takeEffect(leaf *leaf, state State) {
	switch state {
	case Pushed, Drifted, Conflict:
		if leaf.value == nil {
			m.effective.remove(leaf.path)
			return
		}
		m.effective.at[leaf.path] = leaf
	}
}

// keepItem does the same for the fields of an item that the cloud does not have.
func (m *merger) keepItem(item *leaf, state State) {
	if !item.exists || m.upstream.at[item.path] != nil {
		return
	}
	for _, leaf := range m.spec.of(item.path) {
		switch base, had := m.in.Base[leaf.path]; {
		case state == Superseded:
			// Not even null, so that the item counts as changed when it exists again.
			m.plan.Base[leaf.path] = Base{true, leaf.text, ""}
		case had:
			m.plan.Base[leaf.path] = base
		}
		if state != Superseded && state != WrittenBack && leaf.value != nil {
			m.effective.at[leaf.path] = leaf
		}
	}
}

func (m *merger) writeBack(leaf *leaf) {
	upstream := m.upstream.at[leaf.path]
	switch {
	case upstream != nil:
		m.plan.SpecWrites[leaf.path] = upstream.value
	case leaf.list != "":
		m.plan.SpecWrites[leaf.path] = nil
	default:
		// The field stays managed.
		m.plan.SpecWrites[leaf.path] = zero(leaf.value)
	}
}

// of returns the policy for a path.
func (p Policies) of(path string) Policy {
	policy, longest := p.Policy, -1
	for at, override := range p.Overrides {
		if in(path, at) && len(at) > longest {
			policy, longest = override, len(at)
		}
	}
	return policy
}

// in reports whether a path is the other one, or below it.
func in(path, at string) bool {
	rest, ok := strings.CutPrefix(path, at)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
