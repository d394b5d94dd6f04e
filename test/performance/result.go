package performance

import (
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// Phase is what was measured from one change to the end of what it led to.
type Phase struct {
	// Seconds of wall time, and CPU seconds of the process: the manager with
	// the benchmark around it.
	Seconds, CPUSeconds float64
	// Counted is for how many seconds requests were counted: until the manager
	// had settled.
	Counted float64
	// Requests without watches, leases, events and probes; Writes among them.
	Requests, Writes int
	// MapSpecWrites and MapStatusWrites are those of all NamespaceMaps;
	// MapSpecRefused and MapStatusRefused those of them that were refused.
	MapSpecWrites, MapStatusWrites   int
	MapSpecRefused, MapStatusRefused int
	// MostStatusWrites is how often the status of the NamespaceOffloading
	// that was written most often was.
	MostStatusWrites int
	RemoteCreates    int
	RemoteDeletes    int
	NoOps            int
	// Failed are requests that were refused: conflicts, above all.
	Failed int
	// Leases, Events and Probes are requests that time brings, not work.
	Leases, Events, Probes int
	BytesSent              int64
	Rows                   []requests.Row
}

// phaseOf is the phase of that wall time, of which requests were counted for so
// long in all.
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

// consumer names the consumer in figures.
const consumer = "consumer"

// Result is what was measured at one size.
type Result struct {
	N, Providers int
	Offload      Phase
	// Restart is a new manager over what the old one has finished.
	Restart Phase
	// ChangedByRestart are the objects whose resourceVersion a restart changed.
	ChangedByRestart []string
	Delete           Phase
	// Differences are between what the transports of both managers have counted
	// and what the audit logs say: none, if both are right.
	Differences []string `json:",omitempty"`
}

// Report is what is written as JSON, and told in docs/benchmarks.md.
type Report struct {
	Date    string
	Command string
	Machine docs.Machine
	Results []Result
	// The growth of requests and of KiB sent is absent with fewer than three sizes.
	OffloadGrowth, DeleteGrowth *Growth `json:",omitempty"`
	OffloadKiB, DeleteKiB       *Growth `json:",omitempty"`
}
