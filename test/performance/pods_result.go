package performance

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// Way says how the pods get into the provider.
type Way string

const (
	// Ours is Spillway.
	Ours Way = "spillway"
	// Floor is the minimal program, see package floor.
	Floor Way = "floor"
	// Direct creates pods in the provider, without a consumer.
	Direct Way = "provider"
)

// Timing says how long N pods took that were created, or deleted, at once.
type Timing struct {
	// Seconds from the first request until the last pod was Ready or gone.
	Seconds float64
	// P50, P90 and P99 are quantiles of the seconds of each pod, from the sending of its own request.
	P50, P90, P99 float64
}

// timingOf returns the Timing of pods that took so long each, and together.
func timingOf(each []time.Duration, together time.Duration) Timing {
	slices.Sort(each)
	at := func(q float64) float64 { return quantile(each, q).Seconds() }
	return Timing{Seconds: together.Seconds(), P50: at(0.5), P90: at(0.9), P99: at(0.99)}
}

// quantile returns the smallest duration that at least the share q does not exceed; 0 if there are none. The
// durations must be in ascending order.
func quantile(ascending []time.Duration, q float64) time.Duration {
	if len(ascending) == 0 {
		return 0
	}
	return ascending[max(0, int(math.Ceil(q*float64(len(ascending))))-1)]
}

// PodsRun is one roll-out and its deletion.
type PodsRun struct {
	Way            Way
	Create, Delete Timing
	// CPU is the CPU time of the whole run, in seconds.
	CPU CPU
	// Cost has the requests of Spillway or the floor; nil for Direct.
	Cost *Cost `json:",omitempty"`
}

// cost returns the zero Cost if there is none.
func (r PodsRun) cost() Cost {
	if r.Cost == nil {
		return Cost{}
	}
	return *r.Cost
}

// CPU has CPU seconds: of the manager or the floor, of the consumer's API server, and of all providers' API
// servers.
type CPU struct{ Process, Consumer, Providers float64 }

func (c CPU) since(before CPU) CPU {
	return CPU{c.Process - before.Process, c.Consumer - before.Consumer, c.Providers - before.Providers}
}

func (c CPU) plus(more CPU) CPU {
	return CPU{c.Process + more.Process, c.Consumer + more.Consumer, c.Providers + more.Providers}
}

// Cost is what the manager or the floor needed for one run.
type Cost struct {
	// PodWrites are all writes of pods in all clusters; StatusWrites are those to the status. OtherWrites are
	// of other objects, except Leases and events. Reads are GETs and LISTs.
	PodWrites, StatusWrites, OtherWrites, Reads int
	// Failed are the requests among them that were refused.
	Failed int
	// StatusChanges is how often the status of remote pods changed, over all pods, as an independent watch
	// saw it.
	StatusChanges int
	Events        int
	// Watches were begun in the run. Renewals is how many of them may be renewals. Slow were ended by the API
	// servers because any client fell behind. Opened lists the watches that are open afterwards but were not
	// before.
	Watches, Renewals, Slow int
	Opened                  []string `json:",omitempty"`
	// Heap is what the pods added to the live objects, and Peak what they added to the peak RSS, both in
	// bytes; of the manager only.
	Heap, Peak int64
	Rows       []requests.Row
}

// PodsResult has the measurements of one case.
type PodsResult struct {
	Case PodsCase
	// Runs in the order in which they were made.
	Runs []PodsRun
}

// Of returns a figure of each run of a way, in their order.
func (r PodsResult) Of(way Way, figure func(PodsRun) float64) []float64 {
	var all []float64
	for _, run := range r.Runs {
		if run.Way == way {
			all = append(all, figure(run))
		}
	}
	return all
}

// Costs returns the costs of Spillway's runs.
func (r PodsResult) Costs() []Cost {
	var costs []Cost
	for _, run := range r.Runs {
		if run.Way == Ours {
			costs = append(costs, *run.Cost)
		}
	}
	return costs
}

// Most returns the highest of each count of Spillway's runs, with the rows of the run with the most writes.
// Of memory it returns the median.
func (r PodsResult) Most() Cost {
	var most Cost
	for _, cost := range r.Costs() {
		if cost.PodWrites >= most.PodWrites {
			most.PodWrites, most.StatusChanges, most.Rows = cost.PodWrites, cost.StatusChanges, cost.Rows
		}
		most.OtherWrites, most.Reads = max(most.OtherWrites, cost.OtherWrites), max(most.Reads, cost.Reads)
		most.Failed, most.Events, most.Slow = max(most.Failed, cost.Failed), max(most.Events, cost.Events), max(most.Slow, cost.Slow)
	}
	most.Heap = int64(medianOf(r.Of(Ours, func(run PodsRun) float64 { return float64(run.Cost.Heap) })))
	most.Peak = int64(medianOf(r.Of(Ours, func(run PodsRun) float64 { return float64(run.Cost.Peak) })))
	return most
}

// Counted is one roll-out with the manager in the process of the benchmark.
type Counted struct {
	Case PodsCase
	// NoOps is the number of writes that changed nothing.
	NoOps int
	// Differences are between the counts of the manager's transports and the audit logs; none if both are
	// right.
	Differences []string
	// Saturated is the time from the arrival of a remote pod's change to the answer to the resulting write,
	// during the roll-out. In seconds.
	Saturated Buckets
}

// Reaction has quantiles of the manager's reaction time over so many samples, in seconds.
type Reaction struct {
	P50, P99 float64
	Samples  int
}

// Broken returns an error if there are not as many samples as requested.
func (r Reaction) Broken(asked int) error {
	if err := exactly(r.Samples, asked); err != nil {
		return fmt.Errorf("reactions to one change at a time: %w", err)
	}
	return nil
}

// Buckets are quantiles as far as a histogram shows them.
type Buckets struct{ P50, P99 Bucket }

// Bucket is a bucket of a histogram, in seconds.
type Bucket struct {
	// Bound is the upper bound of the values; 0 if there was no value.
	Bound float64
	// Beyond means that the value exceeds Bound, the largest one.
	Beyond bool `json:",omitempty"`
}

// PodsReport is written to bin/bench/pods.json.
type PodsReport struct {
	Date    string
	Command string
	Machine docs.Machine
	Results []PodsResult
	Counted []Counted
	// Unsaturated is the time from the arrival of a remote pod's change at the manager's transport until the
	// resulting write is sent, with one change at a time. In seconds.
	Unsaturated Reaction
}

// inMB converts bytes to megabytes.
func inMB(bytes int64) float64 { return float64(bytes) / 1e6 }
