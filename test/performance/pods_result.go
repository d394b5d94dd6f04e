package performance

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// Way says who brings the pods into the provider.
type Way string

const (
	// Ours is Spillway.
	Ours Way = "spillway"
	// Floor is the least that it takes, see package floor.
	Floor Way = "floor"
	// Direct is without a consumer: pods are created in the provider.
	Direct Way = "provider"
)

// Timing says how long N pods took that were created, or deleted, at once.
type Timing struct {
	// Seconds from the first request to the last pod that was Ready, or gone.
	Seconds float64
	// P50, P90 and P99 are of the seconds that single pods took, from the
	// sending of the request of their own.
	P50, P90, P99 float64
}

// timingOf is that of pods that took so long each, and so long together.
func timingOf(each []time.Duration, together time.Duration) Timing {
	slices.Sort(each)
	at := func(q float64) float64 { return quantile(each, q).Seconds() }
	return Timing{Seconds: together.Seconds(), P50: at(0.5), P90: at(0.9), P99: at(0.99)}
}

// quantile is the smallest of some durations, in ascending order, that at least
// the share q of them does not exceed; 0 of none.
func quantile(ascending []time.Duration, q float64) time.Duration {
	if len(ascending) == 0 {
		return 0
	}
	return ascending[max(0, int(math.Ceil(q*float64(len(ascending))))-1)]
}

// PodsRun is one roll-out and the deletion of all of it.
type PodsRun struct {
	Way            Way
	Create, Delete Timing
	// CPU is what the whole run has used, in seconds.
	CPU CPU
	// Cost is what Spillway or the floor asked for; absent from what runs in the provider.
	Cost *Cost `json:",omitempty"`
}

// cost is nothing where there is none.
func (r PodsRun) cost() Cost {
	if r.Cost == nil {
		return Cost{}
	}
	return *r.Cost
}

// CPU are seconds of the processors: of Spillway's manager, or the floor's process, of the
// consumer's API server, and of the API servers of all providers.
type CPU struct{ Process, Consumer, Providers float64 }

func (c CPU) since(before CPU) CPU {
	return CPU{c.Process - before.Process, c.Consumer - before.Consumer, c.Providers - before.Providers}
}

func (c CPU) plus(more CPU) CPU {
	return CPU{c.Process + more.Process, c.Consumer + more.Consumer, c.Providers + more.Providers}
}

// Cost is what the manager, or the floor, has needed for one run: a process of its own.
type Cost struct {
	// PodWrites are the writes of pods, in all clusters, and StatusWrites how many of them are of
	// the status. OtherWrites are of anything else but leases and events; Reads are GETs and LISTs.
	PodWrites, StatusWrites, OtherWrites, Reads int
	// Failed are the requests among them that were refused.
	Failed int
	// StatusChanges is how often the status of a remote pod has changed, of all
	// pods together, as an independent watch has seen it.
	StatusChanges int
	Events        int
	// Watches are those that were begun, Renewals as many as may be because older
	// ones have ended, Slow those that the API servers say they have ended because
	// they fell behind, anybody's. Opened says which are open afterwards that were
	// not before.
	Watches, Renewals, Slow int
	Opened                  []string `json:",omitempty"`
	// Heap is what the pods have added to the memory of live objects, Peak what
	// they have to the most resident memory, both in bytes; of the manager only.
	Heap, Peak int64
	Rows       []requests.Row
}

// PodsResult is what was measured in one case.
type PodsResult struct {
	Case PodsCase
	// Runs in the order in which they were made.
	Runs []PodsRun
}

// Of is a figure of each run of a way, in their order.
func (r PodsResult) Of(way Way, figure func(PodsRun) float64) []float64 {
	var all []float64
	for _, run := range r.Runs {
		if run.Way == way {
			all = append(all, figure(run))
		}
	}
	return all
}

// Costs are those of our runs.
func (r PodsResult) Costs() []Cost {
	var costs []Cost
	for _, run := range r.Runs {
		if run.Way == Ours {
			costs = append(costs, *run.Cost)
		}
	}
	return costs
}

// Most is the most of each count of our runs, with the rows of one that has most
// writes; what is measured and not counted is the median.
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
	// NoOps are writes that changed nothing.
	NoOps int
	// Differences are between what the transports of the manager have counted
	// and what the audit logs of the clusters say: none, if both are right.
	Differences []string
	// Saturated is from the arrival of a change of a remote pod to the answer
	// to the write that it led to, during the roll-out. In seconds.
	Saturated Buckets
}

// Reaction are quantiles of how long the manager took to act, so many times. In
// seconds.
type Reaction struct {
	P50, P99 float64
	Samples  int
}

// Broken reports whether there are as many samples as were asked for: the quantiles
// of fewer are not those of all.
func (r Reaction) Broken(asked int) error {
	if err := exactly(r.Samples, asked); err != nil {
		return fmt.Errorf("reactions to one change at a time: %w", err)
	}
	return nil
}

// Buckets are what is known of quantiles if only a histogram is.
type Buckets struct{ P50, P99 Bucket }

// Bucket is one of a histogram, in seconds.
type Bucket struct {
	// Bound is that which a value does not exceed; 0 if there was no value.
	Bound float64
	// Beyond tells that it does exceed it, and that there is no larger one.
	Beyond bool `json:",omitempty"`
}

// PodsReport is what is written to bin/bench/pods.json.
type PodsReport struct {
	Date    string
	Command string
	Machine docs.Machine
	Results []PodsResult
	Counted []Counted
	// Unsaturated is from the arrival of a change of a remote pod at the
	// manager's transport to the sending of the write that it leads to, one
	// change at a time. In seconds.
	Unsaturated Reaction
}

// inMB are those of so many bytes.
func inMB(bytes int64) float64 { return float64(bytes) / 1e6 }
