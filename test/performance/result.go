package performance

import (
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// Phase is a measurement from a change until its consequences have ended.
type Phase struct {
	// Seconds is wall time. CPUSeconds is of the process: the manager and the benchmark.
	Seconds, CPUSeconds float64
	// Counted is for how many seconds requests were counted: until the manager had settled.
	Counted float64
	// Requests without watches, Leases, events and probes; Writes among them.
	Requests, Writes int
	// MapSpecWrites and MapStatusWrites are of all NamespaceMaps. MapSpecRefused and MapStatusRefused are how
	// many of them were refused.
	MapSpecWrites, MapStatusWrites   int
	MapSpecRefused, MapStatusRefused int
	// MostStatusWrites is the highest number of status writes of one NamespaceOffloading.
	MostStatusWrites int
	RemoteCreates    int
	RemoteDeletes    int
	NoOps            int
	// Failed are requests that were refused, mostly conflicts.
	Failed int
	// Leases, Events and Probes are periodic requests, not work.
	Leases, Events, Probes int
	BytesSent              int64
	Rows                   []requests.Row
}

// phaseOf returns the phase with that wall time. Requests were counted for the time counted.
func phaseOf(f requests.Figures, wall, counted, cpu time.Duration) Phase {
	class := func(class requests.Class) int {
		return f.Sum(func(k requests.Key) bool { return k.Class == class }).Requests
	}
	remote := func(verb string) int {
		return f.Sum(requests.Verb(verb), requests.Resource("namespaces"), requests.Not(requests.Cluster(consumer))).Requests
	}
	maps := func(subresource string) requests.Count {
		return f.Sum(requests.Writes, requests.Resource("namespacemaps"), requests.Subresource(subresource))
	}
	spec, status := maps(""), maps("status")
	all := f.Sum(requests.Finite)
	_, most := f.MostWrites(func(o requests.Object) bool {
		return o.Resource == "namespaceoffloadings" && o.Subresource == "status"
	})
	return Phase{
		Seconds: wall.Seconds(), Counted: counted.Seconds(), CPUSeconds: cpu.Seconds(),
		Requests: all.Requests, Writes: f.Sum(requests.Finite, requests.Writes).Requests,
		MapSpecWrites: spec.Requests, MapStatusWrites: status.Requests, MapSpecRefused: spec.Failed, MapStatusRefused: status.Failed,
		MostStatusWrites: most,
		RemoteCreates:    remote(requests.Create), RemoteDeletes: remote(requests.Delete),
		NoOps: all.NoOps, Failed: all.Failed,
		Leases: class(requests.Leases), Events: class(requests.Events), Probes: class(requests.Probes),
		BytesSent: all.BytesSent, Rows: f.Rows(),
	}
}

// consumer is the consumer's name in figures.
const consumer = "consumer"

// Result has the measurements of one size.
type Result struct {
	N, Providers int
	Offload      Phase
	// Restart is a new manager after the old one has finished.
	Restart Phase
	// ChangedByRestart are the objects whose resourceVersion a restart changed.
	ChangedByRestart []string
	Delete           Phase
	// Differences are between the counts of both managers' transports and the audit logs; none if both are
	// right.
	Differences []string `json:",omitempty"`
}

// Report is written as JSON, and copied into docs/benchmarks.md.
type Report struct {
	Date    string
	Command string
	Machine docs.Machine
	Results []Result
	// The growth of requests and of KiB sent; nil with fewer than three sizes.
	OffloadGrowth, DeleteGrowth *Growth `json:",omitempty"`
	OffloadKiB, DeleteKiB       *Growth `json:",omitempty"`
}
