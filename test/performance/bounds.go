package performance

import "time"

// The bounds. They are on counts, which do not depend on how fast the machine
// is, but for what is said there. Who changes one says why in the commit.
const (
	// mostMapWrites is the share of N below which the writes of all
	// NamespaceMaps together, spec and status, stay while N offloadings become
	// Ready: changes that come together are one write.
	mostMapWrites = 1.0 / 5
	// fewMapWrites is how many of them each map may take whatever N is: two of its
	// spec and two of its status. It matters below N = 60 only.
	fewMapWrites = 4
	// mostStatusWrites is how often the status of one NamespaceOffloading may
	// be written until it is Ready: that it has begun, perhaps that a part is
	// there, and that all is.
	mostStatusWrites = 3
	// mostStatusWritesDeleting is the same for the deletion, besides one for
	// each provider: that it has begun, and that the deletion of all remote
	// namespaces has; then, some time later, that each of them is gone.
	mostStatusWritesDeleting = 2
	// specWritesApart and statusWritesApart are how far apart two writes of one
	// NamespaceMap are at least, whatever happens: the first intervals of the
	// pacers in controllers/setup.go, which only grow while changes keep coming
	// (internal/retry/throttle). So the time that a phase takes says how many there may
	// be; refused ones, which do not wait, are left out.
	specWritesApart   = 500 * time.Millisecond
	statusWritesApart = time.Second
	// mostResidual is how far the requests of one size may be off the line
	// a + b·N, and mostSquare the share that an N² term may have in the
	// requests at the largest N. Work that is half quadratic breaks both. They
	// cannot be much tighter: an offloading's status is written once, twice or
	// three times, and a map more or less often, as the time allows; of some
	// six requests an offloading, that moves one, and in a parabola through
	// three points it looks like a square of up to 14 %, in either direction.
	mostResidual = 0.1
	mostSquare   = 0.3
)

// Bounds of what is counted in a roll-out of pods.
const (
	// writesBesidesStatus are the creation and the deletion of the remote pod,
	// and the deletion of the local one when that is gone.
	writesBesidesStatus = 3
	// writesWithStatus are those, and the two of the status: that the pod is Ready,
	// and how it ended. Fewer have not all been counted.
	writesWithStatus = writesBesidesStatus + 2
	// writesOnRig is how many there may be a pod on this rig, whatever U is: kwok
	// makes a pod Running in one step, reports the end of a deleted one in
	// another, and that the remote pod gets a node leads to no write of ours. The
	// rest is for a pod in ten whose write has to be sent again.
	writesOnRig = writesWithStatus + 0.1
	// writesOfShared is how often anything is written for a ConfigMap or Secret
	// that pods use, and for each provider: it is marked, sent, deleted, unmarked.
	// Bindings that mark one object at once may try again, once each.
	writesOfShared = 4 + 1
	// writesBesidesPods are those of anything else, such as the status of a
	// ClusterBinding, that may happen to come in the meantime.
	writesBesidesPods = 10
)

// Goals for what is timed. The machine decides too, so they fail nothing: the
// report says which are met.
const (
	// goalReactionP50 and goalReactionP99 are for the seconds from the arrival of
	// a change to the sending of the write, one change at a time.
	goalReactionP50 = 0.002
	goalReactionP99 = 0.02
)

// boundedCase is the one whose ratios to the floor have bounds and goals: the plainest, which
// SHORT=1 runs.
var boundedCase = PodsCase{N: 500, Providers: 1}

// comparisons have the bounds of ratios that must not get worse, and the goals. The bounds are
// a tenth beyond what was measured when they were set. Who makes a ratio better tightens its
// bound in the same commit.
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
