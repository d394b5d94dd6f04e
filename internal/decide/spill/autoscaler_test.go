package spill

import (
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// growthAfter is the default.
var growthAfter = (&v1alpha1.Elastic{}).Patience()

// idle is how long a node may be empty before the autoscaler removes it.
const idle = 5 * time.Minute

// grown is how a provider grows. Its virtual node shows what there can be, and exists is what there is of that.
type grown struct {
	elastic bool
	exists  int64
	// answer is what the autoscaler does about a pod that waits, and delay after which time.
	answer answer
	delay  time.Duration
	// empty is since when there has been room that no pod uses.
	empty time.Time
}

type answer int

const (
	starts   answer = iota // It starts a node, or says no if that would be one too many.
	declines               // It says no.
	isSilent               // It does neither.
)

func (w *world) grown(c *cluster) grown {
	if c.name == "" || w.IntN(3) > 0 {
		return grown{exists: c.shown}
	}
	return grown{
		elastic: true, exists: int64(w.IntN(int(c.shown) + 1)), answer: answer(w.IntN(3)),
		delay: []time.Duration{5 * time.Second, time.Minute, 8 * time.Minute, 2 * growthAfter}[w.IntN(4)],
	}
}

// startsFor reports whether the autoscaler starts so much.
func (c *cluster) startsFor(lacks int64) bool {
	return c.elastic && c.answer == starts && c.exists+lacks <= c.shown
}

// growth is what the manager knows about new nodes for a pod. A quota is no lack of nodes.
func (p *pod) growth() Growth {
	if !p.node.elastic || p.amount() >= p.node.refuse {
		return Growth{}
	}
	return Growth{After: growthAfter, Declined: p.declined}
}

// asks reports whether a pod waits for a new node, and nobody has answered.
func (p *pod) asks() bool {
	return p.node != nil && !p.stuck.IsZero() && !p.declined && !p.node.down && p.growth().After > 0
}

// autoscale starts and removes nodes.
func (w *world) autoscale() {
	for _, p := range w.pods {
		if !p.asks() || p.node.answer == isSilent || w.now.Before(p.waited.Add(p.node.delay)) {
			continue
		}
		c, lacks := p.node, max(0, w.lacks(p.node, p))
		if !c.startsFor(lacks) {
			p.declined = true
			w.log("the autoscaler of %q starts no node for pod %d", c.name, p.id)
			w.changed()
			continue
		}
		c.exists, c.real = c.exists+lacks, c.real+lacks
		w.log("the autoscaler of %q starts %d for pod %d", c.name, lacks, p.id)
		w.changed()
		return // The pod starts before the next one is looked at.
	}
	for _, c := range w.clusters {
		unused := c.real - w.used(c, true)
		switch {
		case !c.elastic || c.down || unused <= 0:
			c.empty = time.Time{}
		case c.empty.IsZero():
			c.empty = w.now
		case !w.now.Before(c.empty.Add(idle)):
			c.exists, c.real, c.empty = c.exists-unused, c.real-unused, time.Time{}
			w.log("the autoscaler of %q removes %d", c.name, unused)
			w.changed()
		}
	}
}

// autoscales returns when the autoscalers do something if nothing changes.
func (w *world) autoscales() (at []time.Time) {
	for _, p := range w.pods {
		if p.asks() {
			at = append(at, p.waited.Add(p.node.delay))
		}
	}
	for _, c := range w.clusters {
		if !c.empty.IsZero() {
			at = append(at, c.empty.Add(idle))
		}
	}
	return at
}

// loseEvents makes API servers drop what autoscalers have said. Some say it again.
func (w *world) loseEvents() {
	for _, p := range w.pods {
		p.declined = p.declined && w.IntN(2) == 0
	}
}

// checkGrowth checks how long the manager waits for a new node.
func (w *world) checkGrowth(p *pod, gives, elsewhere bool) {
	growth := p.growth()
	if waited := w.now.Sub(p.waited); gives && growth.After > 0 && !growth.Declined && !w.jumps && waited < growthAfter-time.Second {
		w.violation("pod %d is given up after %v, although %q may still start a node for it", p.id, waited, p.node.name)
	}
	if !gives && growth.After > 0 && growth.Declined && elsewhere && p.set != statefulSet {
		w.violation("pod %d waits in %q, which starts no node for it, although another place may take it", p.id, p.node.name)
	}
}
