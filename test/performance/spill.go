package performance

import (
	"fmt"
	"time"

	"github.com/spillway-io/spillway/test/order"
	"github.com/spillway-io/spillway/test/requests"
)

// spilled is what was seen of pods that filled their tiers.
type spilled struct {
	// in is how many pods were in each tier, and tierOf is where each was.
	in     []int
	tierOf map[string]int
	// up is how long it took until all were Ready, and each how long the pods of each tier took.
	up   time.Duration
	each [][]time.Duration
}

// spilledFrom reads it from the events up to the moment when all pods were Ready.
func spilledFrom(events []order.Event, tiers int) spilled {
	s := spilled{in: make([]int, tiers), tierOf: map[string]int{}, each: make([][]time.Duration, tiers)}
	created := map[string]time.Duration{}
	var began time.Duration
	for _, e := range events {
		switch e.Kind {
		case order.Asked:
			began = e.At
		case order.Created:
			created[e.Pod] = e.At
		case order.Ready:
			s.in[e.Tier]++
			s.tierOf[e.Pod] = e.Tier
			s.each[e.Tier] = append(s.each[e.Tier], e.At-created[e.Pod])
			s.up = e.At - began
		}
	}
	return s
}

// opened returns how often a tier was opened for a pod: once for each pod of the second tier, twice for the third.
func (s spilled) opened() int {
	times := 0
	for tier, n := range s.in {
		times += tier * n
	}
	return times
}

// figures returns the figures of the time in which the tiers filled. A pod without a node has one write for each tier
// that is opened for it. The writes of its status are not among them.
func (s spilled) figures(f requests.Figures) []figure {
	opening := f.Sum(requests.Cluster(consumer), requests.Resource("pods"), requests.Subresource(""), requests.Writes)
	most := make([]int, len(s.in))
	inFirst := 0
	for object, n := range f.Writes {
		tier, known := s.tierOf[object.Name]
		if !known || object.Cluster != consumer || object.Resource != "pods" {
			continue
		}
		if tier == 0 {
			inFirst += n
		}
		if object.Subresource == "" {
			most[tier] = max(most[tier], n)
		}
	}
	figures := []figure{
		count("writes that open a tier for a pod", opening.Requests-opening.Failed).exactly(s.opened()),
		count("of these, refused and repeated", opening.Failed),
		count("writes of pods in the first tier, also of their status", inFirst).exactly(0),
		measured("seconds until all are Ready", "%.1f", s.up.Seconds()),
	}
	for tier, each := range s.each {
		timing := timingOf(each, s.up)
		figures = append(figures,
			count(fmt.Sprintf("pods in tier %d", tier), s.in[tier]),
			count(fmt.Sprintf("tier %d: most writes of one pod, without its status", tier), most[tier]),
			measured(fmt.Sprintf("tier %d: seconds from creation to Ready, p50", tier), "%.2f", timing.P50),
			measured(fmt.Sprintf("tier %d: the same, p99", tier), "%.2f", timing.P99))
	}
	return figures
}
