package spill

import (
	"slices"
	"time"
)

// Who acts on pods besides the manager.

// controllers create and delete pods, as those of ReplicaSets do, with the admission of new pods.
func (w *world) controllers() {
	for set, want := range w.replicas {
		var have []*pod
		for _, p := range w.pods {
			if p.set == set {
				have = append(have, p)
			}
		}
		for range want - len(have) {
			w.create(set)
		}
		slices.SortFunc(have, func(a, b *pod) int {
			return slices.Compare([]int{rank(a), a.cost, -a.id}, []int{rank(b), b.cost, -b.id})
		})
		for i := range max(0, len(have)-want) {
			w.checkScaleIn(have[i], have[i+1:])
			w.remove(have[i], "scale-in")
		}
	}
}

func rank(p *pod) int {
	switch {
	case p.node == nil:
		return 0
	case !p.running:
		return 1
	}
	return 2
}

func (w *world) create(set int) {
	w.ids++
	p := &pod{id: w.ids, set: set, size: sizes[[]int64{1, 3, 2}[set]], started: w.now, allowed: w.now, retry: w.now, created: w.clock()}
	if w.IntN(10) == 0 {
		p.cost = w.IntN(1000) - 500
		p.asked = &[]int{p.cost}[0]
	}
	if len(w.tiers) > 0 {
		for _, id := range w.tiers[First(w.tiers)].Clusters {
			if w.full.Free(id, "", w.now) {
				p.tolerated = append(p.tolerated, id)
			}
		}
	}
	w.pods = append(w.pods, p)
	w.log("pod %d of %d, size %d, tolerates %v", p.id, set, p.amount(), p.tolerated)
	w.changed()
}

func (w *world) remove(p *pod, why string) {
	w.log("pod %d is gone: %s", p.id, why)
	w.pods = slices.DeleteFunc(w.pods, func(o *pod) bool { return o == p })
	w.changed()
}

// schedule takes any node that a pod tolerates and that shows room.
func (w *world) schedule() {
	for _, p := range w.pods {
		if p.node != nil || p.retry.After(w.now) {
			continue
		}
		p.tried, p.retry = w.now, w.now.Add(flush)
		var fit []*cluster
		for _, c := range w.clusters {
			if !c.down && c.picky != p.set && c.shown-w.used(c, false) >= p.amount() && (c.name == "" || slices.Contains(p.tolerated, c.name)) {
				fit = append(fit, c)
			}
		}
		if len(fit) > 0 {
			p.node, p.since, p.started = fit[w.IntN(len(fit))], time.Time{}, w.now
			w.log("pod %d goes to %q", p.id, p.node.name)
			w.changed()
			continue
		}
		p.seen = p.seen || p.since.IsZero() || !p.silent
		if p.since.IsZero() {
			p.since = w.clock()
		}
		w.due = w.now
	}
}

// providers start pods, or do not.
func (w *world) providers() {
	for _, p := range w.pods {
		switch {
		case p.node == nil || p.running || p.node.down:
		case p.amount() < p.node.refuse && p.node.real-w.used(p.node, true) >= p.amount():
			p.running, p.stuck, p.declined = true, time.Time{}, false
			w.full.Ran(p.node.name, "", p.size, w.now)
			if p.asked == nil || w.bug.overwrites {
				p.cost = w.bug.costOf(p.node.tier)
			}
			w.log("pod %d runs in %q", p.id, p.node.name)
			w.changed()
		case p.stuck.IsZero():
			p.stuck, p.waited = w.clock(), w.now
			w.due = w.now
		}
	}
}

// Free reports whether the provider takes pods of any size from the namespace now. Admission knows no sizes.
func (f *Full) Free(clusterID, namespace string, now time.Time) bool {
	return !slices.ContainsFunc(f.entries[place{clusterID, namespace}], func(e entry) bool { return e.closed(now) > 0 })
}
