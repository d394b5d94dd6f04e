package performance

import (
	"math"
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

// Timing says how long N pods took that were created, or deleted, at once.
type Timing struct {
	// Seconds from the first request until the last pod was Ready or gone.
	Seconds float64
	// P50 and P99 are quantiles of the seconds of each pod, from the sending of its own request.
	P50, P99 float64
}

// timingOf returns the Timing of pods that took so long each, and together.
func timingOf(each []time.Duration, together time.Duration) Timing {
	slices.Sort(each)
	at := func(q float64) float64 { return quantile(each, q).Seconds() }
	return Timing{Seconds: together.Seconds(), P50: at(0.5), P99: at(0.99)}
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
	// Cost has the requests of Spillway or the floor; zero for Direct.
	Cost Cost
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
	// servers because any client fell behind. Opened is how many more are open afterwards.
	Watches, Renewals, Slow, Opened int
	// Heap is what the pods added to the live objects, and Peak what they added to the peak RSS, both in
	// bytes; of the manager only.
	Heap, Peak int64
	// Requests has all of them.
	Requests requests.Figures
}

func costOf(f requests.Figures) Cost {
	pods := f.Sum(requests.OnlyWork, requests.Writes, requests.Resource("pods")).Requests
	reads := f.Sum(requests.OnlyWork, requests.Verb(requests.Get)).Requests + f.Sum(requests.OnlyWork, requests.Verb(requests.List)).Requests
	return Cost{
		PodWrites: pods, StatusWrites: f.Sum(requests.OnlyWork, requests.Writes, requests.Resource("pods"), requests.Subresource("status")).Requests,
		OtherWrites: f.Sum(requests.OnlyWork, requests.Writes).Requests - pods, Reads: reads,
		Failed:  f.Sum(requests.Finite).Failed,
		Watches: f.Sum(requests.OnlyWork, requests.Verb(requests.Watch)).Requests,
		Events:  f.Sum(func(k requests.Key) bool { return k.Class == requests.Events }).Requests, Requests: f,
	}
}

// Bounds on counts in a roll-out of pods.
const (
	// writesBesidesStatus are the creation and the deletion of the remote pod, and then the deletion of the
	// local one.
	writesBesidesStatus = 3
	// writesWithStatus adds the two writes of the status: the pod is Ready, and how it ended. If there are
	// fewer, some were not counted.
	writesWithStatus = writesBesidesStatus + 2
	// writesOnRig is how many writes a pod may have on this rig. kwok makes a pod Running in one step. It
	// reports the end of a deleted pod in another. Scheduling the remote pod leads to no write. The rest
	// allows for a repeated write for one pod in ten.
	writesOnRig = writesWithStatus + 0.1
	// writesOfShared is how many writes a shared ConfigMap or Secret may have for each provider: mark, send,
	// delete, unmark. Bindings that mark one object at the same time may each try once more.
	writesOfShared = 4 + 1
	// writesBesidesPods is how many other writes may happen meanwhile, such as a ClusterBinding's status.
	writesBesidesPods = 10
)

// figures returns what the manager needed for a run of a case. A pod has at most writesBesidesStatus writes,
// and one for each change of its remote status.
func (c Cost) figures(of PodsCase) []figure {
	n, otherWrites := float64(of.N), writesBesidesPods
	if of.Shared {
		otherWrites += writesOfShared * 2 * sharedObjects * of.Providers
	}
	return []figure{
		count("writes of pods", c.PodWrites).between(writesWithStatus*n, math.Round(writesOnRig*n)),
		count("of these, without one for each change of a status there", c.PodWrites-c.StatusChanges).atMost(writesBesidesStatus * n),
		count("other writes", c.OtherWrites).atMost(float64(otherWrites)),
		count("reads", c.Reads).exactly(0),
		count("watches begun", c.Watches).atMost(float64(c.Renewals + c.Slow)),
		count("more watches open", c.Opened).exactly(0),
		count("slow watches", c.Slow),
		count("refused", c.Failed),
		count("events", c.Events),
		measured("heap, MB for 1,000 pods", "%.1f", inMB(c.Heap)*1000/n),
		measured("peak RSS, MB for 1,000 pods", "%.0f", inMB(c.Peak)*1000/n),
	}
}

// opened returns the resources that have more open watches than before, by "cluster: resource".
func opened(before, after map[string]int) []string {
	var more []string
	for key, is := range after {
		if is > before[key] {
			more = append(more, key)
		}
	}
	slices.Sort(more)
	return more
}

// mostRenewals returns how many of the open watches may be renewed in that time. One more of each is allowed,
// because the interval may begin or end at the edge.
func mostRenewals(open map[string]int, during time.Duration) int {
	return sum(open) * (int(during/watchInterval) + 1)
}
