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
	// Spec and Upstream are the configuration on both sides, as JSON has it.
	Spec, Upstream map[string]any
	// Complete is set if all of Upstream could be read. Otherwise nothing is decided.
	Complete bool
	// Versions that the cloud gave with Upstream: by path of an item, and "" for the
	// cluster. Requests carry the one of what they change.
	Versions map[string]string
	// Published is the Upstream that users could last see; nil if they never could.
	Published map[string]any
	// Base has what was last agreed on, by path.
	Base map[string]Base
	// Sent is what was sent since Base was made, by path, unless the cloud has refused it
	// for certain. Upstream has to be newer.
	Sent map[string]Text
	// Conflicts are those of the last time.
	Conflicts []OpenConflict
	Policies  Policies
	Now       time.Time
}

// Policies of a cluster.
type Policies struct {
	Policy
	// Overrides by the path of a leaf or of what it is in; the longest one holds.
	Overrides map[string]Policy
	// Exclusive deletes items, such as pools, that a list of the spec does not have.
	Exclusive   bool
	Resolutions []Resolution
}

// Resolution of one conflict. It decides nothing once that is another one.
type Resolution struct {
	Path string
	Take Side
	// Hash is that of the conflict.
	Hash string
}

// Base is what both sides had when they last agreed.
type Base struct {
	// SpecSet is false if the spec did not have the field then.
	SpecSet        bool
	Spec, Upstream Text
}

// OpenConflict is a leaf that both sides have changed.
type OpenConflict struct {
	Path string
	// Base is what the cloud had when both sides last agreed.
	Base           Text
	Spec, Upstream Text
	// Hash names this conflict: the same values in another one have another hash.
	Hash  string
	Since time.Time
}

// Decision names a value that is overwritten although its author did not know. It has to
// be stored before any request of the same Plan.
type Decision struct {
	Path string
	// Take is the side that won, with Kept; Lost is the value of the other.
	Take       Side
	Kept, Lost Text
	Time       time.Time
}

// Leaf is a field that the spec sets.
type Leaf struct {
	Path  string
	State State
	// Spec and Upstream are the values of the two sides.
	Spec, Upstream Text
}

// Plan is what to do. Base, Conflicts and Decisions are to be stored first, together with
// the Upstream that they were made from; then come the Writes, and SpecWrites.
type Plan struct {
	// Decided is false if Upstream was not complete. Then there is nothing else.
	Decided   bool
	Leaves    []Leaf
	Base      map[string]Base
	Conflicts []OpenConflict
	Decisions []Decision
	// Stale are the paths of resolutions that are for another conflict.
	Stale []string
	// Writes are the requests to the cloud, in their order.
	Writes []Write
	// SpecWrites are what the spec shall have, by path; a null value removes it.
	SpecWrites map[string]any
	// Effective is Upstream plus all fields that are set, but those which the cloud's
	// values have superseded.
	Effective map[string]any
}

// Merge decides about all leaves.
func Merge(in Input) Plan {
	if !in.Complete {
		return Plan{}
	}
	m := newMerger(in)
	for _, leaf := range m.managed() {
		if !m.waitsForItem(leaf) {
			m.decide(leaf)
		}
	}
	m.plan.Writes = m.writes()
	m.plan.Effective = in.Table.build(m.effective)
	m.plan.Stale = m.stale()
	return m.plan
}

// merger is a Merge under way.
type merger struct {
	in                                   Input
	spec, upstream, published, effective *leaves
	pushed                               []*leaf
	// used are the indexes of the resolutions that are for a conflict of now.
	used map[int]bool
	plan Plan
}

func newMerger(in Input) *merger {
	m := &merger{in: in, spec: in.Table.read(in.Spec), upstream: in.Table.read(in.Upstream), used: map[int]bool{}}
	m.effective = &leaves{at: maps.Clone(m.upstream.at), sets: maps.Clone(m.upstream.sets)}
	if in.Published != nil {
		m.published = in.Table.read(in.Published)
	}
	m.plan = Plan{Decided: true, Base: map[string]Base{}, SpecWrites: map[string]any{}}
	for path, list := range m.spec.sets {
		m.effective.sets[path] = list
		if m.owned(list.field) {
			// From now on, what is added to the list is a change in the cloud.
			m.plan.Base[path] = Base{true, Null, Null}
		}
	}
	return m
}

// owned tells whether a list, once set, is all there should be.
func (m *merger) owned(f *Field) bool {
	return f.Shape == Keyed && (f.Owned || f.Delete != "" && m.in.Policies.Exclusive)
}

// managed returns the leaves of the spec, in order, together with what it implies should
// not be there.
func (m *merger) managed() []*leaf {
	all := maps.Clone(m.spec.at)
	for path, leaf := range m.upstream.at {
		if m.spec.sets[leaf.list] != nil && m.owned(leaf.field) && all[path] == nil {
			absent := *leaf
			absent.value, absent.text = nil, Null
			all[path] = &absent
		}
	}
	return sorted(all)
}

// waitsForItem tells whether a leaf is in an item that the cloud does not have. There is
// nothing to compare it with: what becomes of the item decides.
func (m *merger) waitsForItem(leaf *leaf) bool {
	return leaf.item != "" && m.upstream.at[leaf.item] == nil
}

func (m *merger) decide(leaf *leaf) {
	base := m.baseOf(leaf)
	v := m.view(leaf, base)
	upstream := m.upstream.text(leaf.path)
	hash, since := m.conflict(leaf, base)
	v.resolved = m.resolution(leaf.path, hash, v)
	verdict := decide(v, m.in.Policies.of(leaf.path))
	m.plan.Leaves = append(m.plan.Leaves, Leaf{leaf.path, verdict.state, leaf.text, upstream})
	m.keep(leaf, v, verdict.state, base)
	switch verdict.state {
	case Pushed:
		m.pushed = append(m.pushed, leaf)
	case WrittenBack:
		m.writeBack(leaf)
	}
	if v.spec && v.upstream && slices.Contains([]State{Conflict, Pushed, WrittenBack}, verdict.state) {
		// It is open until what decides it is done, so that this is still decided if what
		// was written was refused.
		m.plan.Conflicts = append(m.plan.Conflicts, OpenConflict{leaf.path, base.Upstream, leaf.text, upstream, hash, since})
	}
	if verdict.overwrites {
		d := Decision{Path: leaf.path, Take: Upstream, Kept: upstream, Lost: leaf.text, Time: m.in.Now}
		if verdict.state == Pushed {
			d.Take, d.Kept, d.Lost = Spec, leaf.text, upstream
		}
		m.plan.Decisions = append(m.plan.Decisions, d)
	}
}

// keep stores what the leaf will be compared with the next time, and what is in effect.
func (m *merger) keep(leaf *leaf, v view, state State, base Base) {
	switch state {
	case Agreed, Superseded, ImmutableDiffers:
		base = Base{true, leaf.text, m.upstream.text(leaf.path)}
	case Pushed:
		if v.spec {
			// It is not as agreed any more, not even if it is taken back: then that is
			// what it wants.
			base.SpecSet, base.Spec = false, Null
		}
	}
	m.plan.Base[leaf.path] = base
	m.keepItem(leaf, state)
	switch state {
	case Pushed, Drifted, Conflict:
		if leaf.value == nil {
			m.effective.remove(leaf.path)
			return
		}
		m.effective.at[leaf.path] = leaf
	}
}

// keepItem does it for the fields of an item that the cloud does not have.
func (m *merger) keepItem(item *leaf, state State) {
	if !item.exists || m.upstream.at[item.path] != nil {
		return
	}
	for _, leaf := range m.spec.of(item.path) {
		switch base, had := m.in.Base[leaf.path]; {
		case state == Superseded:
			// Not even null: once the item is there again, that is a change.
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

// in tells whether a path is at, or below, another.
func in(path, at string) bool {
	rest, ok := strings.CutPrefix(path, at)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
