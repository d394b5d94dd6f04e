package merge

import "slices"

// checkWrite checks an accepted request.
func (w *world) checkWrite(op operation, before, after side) {
	changed := false
	asKnown := op.Write.Call == "delete" && w.known(op, op.Write.Item, toy.read(before.tree()).text(op.Write.Item))
	for _, path := range universePaths {
		at := universe.at[path]
		if before.text(path) == after.text(path) {
			continue
		}
		changed = true
		if lost := w.cloudEdits[path]; lost != nil && (asKnown || w.known(op, path, lost.text)) {
			lost.seen = true
		}
		if _, set := op.Write.Set[path]; !set && op.Write.Call != "delete" {
			w.violation("%s changes %s from %s to %s, and does not mean to", op.Write.Call, path, before.text(path), after.text(path))
		}
		_, set := op.planned[path]
		owned := op.planned[at.list] != nil && after.text(path) == Null && w.owns(at)
		if !set && !owned && op.Write.Call != "delete" {
			w.violation("%s sends %s, which nobody has set", op.Write.Call, path)
		}
		if at.exists && op.Write.Call == "delete" && !w.policies.Exclusive {
			w.violation("%s is deleted, and only not listed", path)
		}
	}
	if op.Write.Call == "delete" && slices.ContainsFunc(op.plan, func(o Write) bool { return o.Call == "create" && w.cloud.quota(o) }) {
		w.violation("%s is deleted, although its replacement was refused", op.Write.Item)
	}
	if op.Write.Call == "delete" && slices.ContainsFunc(op.Troubled, func(item string) bool { return op.planned[item] != nil }) {
		w.violation("%s is deleted, although its replacement does not work: %v", op.Write.Item, op.Troubled)
	}
	w.agreeOn(op.Write)
	if !changed {
		w.violation("%s of %q changes nothing", op.Write.Call, op.Write.Item)
	}
	if w.cloud.writes > len(w.edits) {
		w.violation("%d requests for %d edits", w.cloud.writes, len(w.edits))
	}
}

// agreeOn records what was sent, because the author of the spec knows it.
func (w *world) agreeOn(write Write) {
	for path, text := range write.Sent {
		w.agreed[[2]string{path, string(text)}] = true
	}
}

// known reports whether a value that is overwritten was agreed on, seen or named before. A value that recurs
// counts as known.
func (w *world) known(op operation, path string, text Text) bool {
	if w.agreed[[2]string{path, string(text)}] || (text == Null || text == "true") && w.public[[2]string{path, string(text)}] {
		return true
	}
	for at, author := range op.plannedBy {
		if (in(at, path) || at == universe.at[path].list) && seen(text, author.saw.text(path)) {
			return true
		}
	}
	return slices.ContainsFunc(w.status.Decisions, func(d Decision) bool { return d.Path == path && seen(text, d.Lost) })
}

// seen compares a value with what was shown. The value of an edit that creates an item is just true.
func seen(text, shown Text) bool { return text == shown || text == "true" && shown != Null }

// checkPlan checks a plan. A resolution of a conflict must be for the present value. There must be no
// conflict if only one side has ever changed.
func (w *world) checkPlan(p Plan) {
	// Some fields have only two values, and all fields may be missing. These values recur so often that
	// having been published is enough.
	published := w.shows
	for _, path := range universePaths {
		w.public[[2]string{path, string(published.text(path))}] = true
	}
	for _, leaf := range p.Leaves {
		if leaf.State == Agreed || leaf.State == Superseded {
			w.agreed[[2]string{leaf.Path, string(leaf.Upstream)}] = true
		}
	}
	for _, d := range p.Decisions {
		upstream := d.Kept
		if d.Take == Spec {
			upstream = d.Lost
		}
		if w.policies.of(d.Path) == (Policy{}) && !w.resolvedAt(d.Path, upstream) {
			w.violation("%+v is decided by nobody", d)
		}
		w.checkTwoSides(d.Path)
	}
	for _, c := range p.Conflicts {
		w.checkTwoSides(c.Path)
	}
}

func (w *world) resolvedAt(path string, upstream Text) bool {
	return slices.ContainsFunc(w.policies.Resolutions, func(r Resolution) bool {
		return r.Path == path && same(path, w.shown[r.Hash].Upstream, upstream)
	})
}

// checkTwoSides: there is no conflict if only the spec has changed. Exceptions are requests without a token,
// and authors who have seen nothing of the cloud.
func (w *world) checkTwoSides(path string) {
	at := universe.at[path]
	if at.exists || at.field.Floats != nil || w.cloud.forget {
		return
	}
	for _, e := range w.edits {
		blind := e.spec && e.path == path && len(e.saw.at) == 0
		if blind || !e.spec && (in(e.path, path) || e.path == at.item) {
			return
		}
	}
	w.violation("%s is in conflict, and nobody has changed it in the cloud", path)
}

// checkStuck checks, once everything has settled, that only requests wait that the cloud refuses, and those that
// come after such a one, or after a pool that the spec has and the cloud does not.
func (w *world) checkStuck() {
	plan := Merge(w.settledInput())
	creates := slices.ContainsFunc(w.cloud.now().troubled, func(item string) bool { return w.spec[item] != nil })
	creates = creates || w.lacks()
	for _, write := range plan.Writes {
		refused := w.cloud.quota(write) || w.cloud.parallel && w.cloud.fails(write)
		creates = creates || refused && write.Call == "create"
		if !refused && (!creates || write.Call != "delete") {
			w.violation("%s of %q with %v is never sent, and was not refused", write.Call, write.Item, write.Sent)
		}
	}
}

// lacks reports whether the spec has a pool that the cloud does not have. Then no pool is deleted.
func (w *world) lacks() bool {
	return slices.ContainsFunc(universePaths, func(path string) bool {
		return universe.at[path].exists && w.spec[path] != nil && w.cloud.now().config.text(path) == Null
	})
}

func (w *world) settledInput() Input {
	return Input{
		Table: toy, Spec: w.specTree(), Upstream: w.cloud.now().tree, Complete: true, Published: w.status.Published,
		Base: w.status.Base, Conflicts: w.status.Conflicts, Policies: w.policies, Now: w.now,
	}
}

// checkEdits checks each accepted write, once everything has settled.
func (w *world) checkEdits() {
	states := map[string]State{}
	plan := Merge(w.settledInput())
	for _, leaf := range plan.Leaves {
		states[leaf.Path] = leaf.State
	}
	for _, e := range w.edits {
		if e.seen || w.live(e) || w.named(e) {
			continue
		}
		if e.spec {
			switch states[e.path] {
			case Conflict, Drifted, Floating:
				continue
			case Pushed:
				if universe.at[e.path].exists && e.text == Null && w.lacks() {
					continue
				}
			case Superseded:
				// The decision was recorded when it was made. Setting the same value again changes nothing.
				if slices.ContainsFunc(w.status.Decisions, func(d Decision) bool { return d.Path == e.path && same(e.path, e.text, d.Lost) }) {
					continue
				}
			}
			switch states[universe.at[e.path].item] {
			case Conflict, Drifted:
				continue
			case Superseded:
				if w.status.Base[e.path].Spec == e.text {
					continue
				}
			}
		}
		w.violation("%s = %s of %d (by the user of the spec: %v) is lost: the cloud has %s, the spec %s, state %q, base %+v", e.path, e.text, e.at.Unix()-1000, e.spec,
			w.cloud.now().config.text(e.path), w.spec.text(e.path), states[e.path], w.status.Base[e.path])
	}
}

func (w *world) live(e *edit) bool {
	return same(e.path, e.text, w.cloud.now().config.text(e.path))
}

func same(path string, spec, upstream Text) bool {
	at := universe.at[path]
	return agree(at.field, at.exists, spec, upstream)
}

// named reports whether a decision has the value, or is about its pool.
func (w *world) named(e *edit) bool {
	at := universe.at[e.path]
	for _, d := range w.status.Decisions {
		exists := d.Path == e.path && at.exists || d.Path == at.item
		if !d.Time.Before(e.at) && (d.Path == e.path && d.Lost == e.text || exists) {
			return true
		}
	}
	return false
}
