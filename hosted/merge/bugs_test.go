package merge

import (
	"maps"
	"slices"
	"time"
)

// seededBugs are mistakes that TestNoLostUpdates must catch.
var seededBugs = map[string]bug{
	"nil is treated as managed": {in: func(in *Input) {
		spec, published := in.Table.read(in.Spec), in.Table.read(in.Published)
		for path, leaf := range published.at {
			if spec.at[path] == nil && (leaf.item == "" || spec.at[leaf.item] != nil) {
				spec.at[path] = leaf
			}
		}
		in.Spec = in.Table.build(spec)
	}},
	"tags of others are removed": {in: func(in *Input) {
		spec := in.Table.read(in.Spec)
		for path, leaf := range in.Table.read(in.Upstream).at {
			if spec.sets[leaf.list] != nil && spec.at[path] == nil && leaf.field.Shape == Map {
				gone := *leaf
				gone.value = nil
				spec.at[path] = &gone
			}
		}
		in.Spec = in.Table.build(spec)
	}},
	"a stale resolution decides": {in: func(in *Input) {
		in.Policies.Resolutions = slices.Clone(in.Policies.Resolutions)
		for i, r := range in.Policies.Resolutions {
			for _, c := range Merge(*in).Conflicts {
				if c.Path == r.Path {
					in.Policies.Resolutions[i].Hash = c.Hash
				}
			}
		}
	}},
	"siblings are reset by a partial message": {plan: func(_ Input, p *Plan) {
		for i, w := range p.Writes {
			message := toy.read(w.Message)
			maps.DeleteFunc(message.at, func(path string, at *leaf) bool { _, set := w.Set[path]; return !set && !at.exists })
			p.Writes[i].Message = toy.build(message)
		}
	}},
	"a fresh version with older values": {write: func(w *Write, c *cloud) { w.Version = c.now().versions[w.Item] }},
	"a request without a version":       {unguarded: true},
	"a cluster is believed to be done":  {believes: true},
	"the version is that of an answer": {write: func(w *Write, c *cloud) {
		if before := len(c.history) - 2; before >= 0 {
			w.Version = c.history[before].versions[w.Item]
		}
	}},
	"pools are in the request for the cluster": {plan: func(in Input, p *Plan) {
		for i, w := range p.Writes {
			message := toy.read(w.Message)
			for path, at := range toy.read(in.Upstream).at {
				if w.Item == "" && (at.exists || at.item != "") {
					message.at[path] = at
				}
			}
			p.Writes[i].Message = toy.build(message)
		}
	}},
	"half a change of a pool decides":        {sees: true, tries: 50_000},
	"a request is forgotten for another one": {drops: true, tries: 50_000},
	"what was sent counts as agreed":         {plan: func(_ Input, p *Plan) { rebase(p, Pushed) }},
	"what is in conflict counts as agreed":   {plan: func(_ Input, p *Plan) { rebase(p, Conflict) }},
	"what has failed had no effect":          {tries: 50_000, in: func(in *Input) { in.Tried = nil }},
	"what was sent is forgotten":             {in: func(in *Input) { in.Sent = nil }},
	"half a read decides":                    {in: func(in *Input) { in.Complete = true }},
	"nothing is said of what is overwritten": {plan: func(_ Input, p *Plan) { p.Decisions = nil }},
	"what is newly set wins over any value":  {in: func(in *Input) { in.Published = in.Upstream }},
	"pools that are not listed are deleted":  {in: func(in *Input) { in.Policies.Exclusive = true }},
	"pools are deleted whatever was changed in them": {in: func(in *Input) {
		in.Base = maps.Clone(in.Base)
		for path, leaf := range in.Table.read(in.Upstream).at {
			if base, ok := in.Base[path]; ok && leaf.exists && base.Upstream != Null {
				base.Upstream = leaf.text
				in.Base[path], in.Published = base, in.Upstream
			}
		}
	}},
	"a pool is gone whatever was wanted of it": {in: func(in *Input) {
		in.Base = maps.Clone(in.Base)
		if in.Base == nil {
			return
		}
		upstream := in.Table.read(in.Upstream)
		for path, leaf := range in.Table.read(in.Spec).at {
			if leaf.item != "" && upstream.at[leaf.item] == nil {
				in.Base[path] = Base{true, leaf.text, Null}
			}
		}
	}},
	"a refused request holds up all others": {next: func(p Plan, h Held) *Write {
		if len(p.Writes) == 0 || slices.ContainsFunc(h.Refused, func(r Refusal) bool { return r.Holds(p.Writes[0], h.Now) }) {
			return nil
		}
		return &p.Writes[0]
	}},
	"a refused request is never sent again": {refused: func(_ Write, r Refusal) Refusal { r.Until = r.Until.Add(LongestWait / 2); return r }},
	"a value that loses again is not named again": {in: func(in *Input) {
		in.Stored.SpecUnchanged, in.Stored.States = true, maps.Clone(in.Stored.States)
		for path := range in.Stored.States {
			in.Stored.States[path] = WrittenBack
		}
	}},
	"a refused request is sent again at each look": {refused: func(_ Write, r Refusal) Refusal { r.Until = time.Time{}; return r }},
	"a pool is deleted, and what replaces it was refused": {next: func(p Plan, h Held) *Write {
		for i, w := range p.Writes {
			if !slices.ContainsFunc(h.Refused, func(r Refusal) bool { return r.Holds(w, h.Now) }) {
				return &p.Writes[i]
			}
		}
		return nil
	}},
	"a pool is deleted, and what replaces it does not work": {next: func(p Plan, h Held) *Write {
		h.Troubled = nil
		return toy.Next(p, h)
	}},
	"a pool that does not work is never changed": {next: func(p Plan, h Held) *Write {
		p.Writes = slices.DeleteFunc(slices.Clone(p.Writes), func(w Write) bool { return w.Call != "delete" && slices.Contains(h.Troubled, w.Item) })
		return toy.Next(p, h)
	}},
	"a pool that does not work is never deleted": {tries: 50_000, next: func(p Plan, h Held) *Write {
		p.Writes = slices.DeleteFunc(slices.Clone(p.Writes), func(w Write) bool { return w.Call == "delete" && slices.Contains(h.Troubled, w.Item) })
		return toy.Next(p, h)
	}},
}

func rebase(p *Plan, state State) {
	for _, leaf := range p.Leaves {
		if leaf.State == state {
			p.Base[leaf.Path] = Base{true, leaf.Spec, leaf.Upstream}
			if state == Pushed {
				p.Base[leaf.Path] = Base{true, leaf.Spec, leaf.Spec}
			}
		}
	}
}
