package performance

import "time"

// The bounds. They are on counts, which do not depend on the speed of the machine, except where a comment
// says so. Explain a change of one in the commit.
const (
	// mostMapWrites bounds the writes of all NamespaceMaps together, spec and status, while N offloadings
	// become Ready. They must stay below this share of N: changes that come together are one write.
	mostMapWrites = 1.0 / 5
	// fewMapWrites is how many writes each map may have for any N: two of its spec and two of its status. It
	// matters only below N = 60.
	fewMapWrites = 4
	// mostStatusWrites is how often the status of one NamespaceOffloading may be written until it is Ready:
	// at its beginning, perhaps with a part of it Ready, and at its end.
	mostStatusWrites = 3
	// mostStatusWritesDeleting is the same for the deletion: when it begins, and when the deletion of all
	// remote namespaces has begun. One more is allowed for each provider, when its remote namespace is gone.
	mostStatusWritesDeleting = 2
	// specWritesApart and statusWritesApart are the minimal intervals between two writes of one NamespaceMap.
	// They are the first intervals of the pacers in controllers/setup.go, which only grow while changes keep
	// coming (internal/retry/throttle). So the duration of a phase bounds its writes. Refused writes do not
	// wait, and are not counted.
	specWritesApart   = 500 * time.Millisecond
	statusWritesApart = time.Second
	// mostResidual is how far the requests of one size may be off the line a + b·N. mostSquare is the share
	// that an N² term may have in the requests at the largest N. Work that is half quadratic breaks both.
	//
	// They cannot be much tighter. Depending on timing, an offloading's status is written one to three times,
	// and a map more or less often. That shifts one of some six requests an offloading. A parabola through
	// three points shows it as a square of up to 14 %, in either direction.
	mostResidual = 0.1
	mostSquare   = 0.3
)

// Bounds on counts in a roll-out of pods.
const (
	// writesBesidesStatus are the creation and the deletion of the remote pod, and then the deletion of the
	// local one.
	writesBesidesStatus = 3
	// writesWithStatus adds the two writes of the status: the pod is Ready, and how it ended. If there are
	// fewer, some were not counted.
	writesWithStatus = writesBesidesStatus + 2
	// writesOnRig is how many writes a pod may have on this rig, for any U. kwok makes a pod Running in one
	// step, and reports the end of a deleted pod in another. Scheduling the remote pod leads to no write. The
	// rest allows for a repeated write for one pod in ten.
	writesOnRig = writesWithStatus + 0.1
	// writesOfShared is how many writes a shared ConfigMap or Secret may have for each provider: mark, send,
	// delete, unmark. Bindings that mark one object at the same time may each try once more.
	writesOfShared = 4 + 1
	// writesBesidesPods is how many other writes may happen meanwhile, such as a ClusterBinding's status.
	writesBesidesPods = 10
)

// Goals for timings. They depend on the machine too, so they fail nothing: the report says which are met.
const (
	// goalReactionP50 and goalReactionP99 are for the seconds from the arrival of a change until its write is
	// sent, with one change at a time.
	goalReactionP50 = 0.002
	goalReactionP99 = 0.02
)

// boundedCase is the plainest case. Only its ratios to the floor have bounds and goals. SHORT=1 runs only
// this case.
var boundedCase = PodsCase{N: 500, Providers: 1}

// comparisons have the bounds of ratios, and their goals. Each bound was set a tenth beyond the measured
// ratio. If you improve a ratio, tighten its bound in the same commit.
var comparisons = []comparison{
	{"pods/s to Ready", "%.1f", true, 0.7, 0.95, func(r PodsRun, pods float64) float64 { return pods / r.Create.Seconds }},
	{"seconds to Ready, p50", "%.2f", false, 0, 0, func(r PodsRun, _ float64) float64 { return r.Create.P50 }},
	{"seconds to Ready, p99", "%.2f", false, 1.3, 1.1, func(r PodsRun, _ float64) float64 { return r.Create.P99 }},
	{"seconds until all are deleted", "%.2f", false, 1.6, 1.1, func(r PodsRun, _ float64) float64 { return r.Delete.Seconds }},
	{"CPU of the consumer's API server, ms a pod", "%.1f", false, 1.75, 1.15, func(r PodsRun, pods float64) float64 { return 1000 * r.CPU.Consumer / pods }},
	{"CPU of the providers' API servers, ms a pod", "%.1f", false, 1.4, 1.15, func(r PodsRun, pods float64) float64 { return 1000 * r.CPU.Providers / pods }},
	{"CPU of the manager or the floor, ms a pod", "%.2f", false, 2.7, 1.3, func(r PodsRun, pods float64) float64 { return 1000 * r.CPU.Process / pods }},
	{"writes of pods, for each", "%.2f", false, 0, 1, func(r PodsRun, pods float64) float64 { return float64(r.cost().PodWrites) / pods }},
	{"of these, of the status", "%.2f", false, 0, 1, func(r PodsRun, pods float64) float64 { return float64(r.cost().StatusWrites) / pods }},
}
