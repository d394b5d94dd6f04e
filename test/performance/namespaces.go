package performance

import (
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

// consumer is the consumer's name in figures.
const consumer = "consumer"

// The bounds of a phase in which N offloadings become Ready, or are deleted.
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
	// otherRequests are all that no other bound counts, for each offloading: the write of its finalizer, and
	// one in ten that was refused and is repeated. A few more are independent of N, for the statuses of
	// bindings.
	otherRequests    = 1.1
	fewOtherRequests = 100
)

// phase is a measurement of N offloadings, from a change until its consequences have ended.
type phase struct {
	n, providers int
	requests.Figures
	// wall is the time until the change is done. counted is the time until the manager had settled, in which
	// requests were counted.
	wall, counted time.Duration
}

// offloading returns the figures of offloadings that become Ready.
func (p phase) offloading() []figure {
	spec, status := p.mapWrites("").Requests, p.mapWrites("status").Requests
	mapsMost := max(mostMapWrites*float64(p.n)-1, float64(fewMapWrites*p.providers))
	return append([]figure{
		count("remote namespaces created", p.remote(requests.Create)).exactly(p.n * p.providers),
		count("writes of NamespaceMaps", spec+status).atMost(mapsMost),
		count("status writes of one offloading", p.mostStatusWrites()).atMost(mostStatusWrites),
	}, p.common()...)
}

// restart returns the figures of a manager that starts with nothing to do. changed is the number of objects
// that have another version afterwards.
func (p phase) restart(changed int) []figure {
	return []figure{
		count("restart: writes", p.Sum(requests.Finite, requests.Writes).Requests).exactly(0),
		count("restart: objects changed", changed).exactly(0),
	}
}

// deleting returns the figures of offloadings that are deleted.
func (p phase) deleting() []figure {
	paced := func(writes requests.Count, apart time.Duration) (int, float64) {
		return writes.Requests - writes.Failed, float64(p.providers * (int(p.counted/apart) + 1))
	}
	spec, specMost := paced(p.mapWrites(""), specWritesApart)
	status, statusMost := paced(p.mapWrites("status"), statusWritesApart)
	figures := append([]figure{
		count("remote namespaces deleted", p.remote(requests.Delete)).exactly(p.n * p.providers),
		count("spec writes of NamespaceMaps", spec).atMost(specMost),
		count("status writes of NamespaceMaps", status).atMost(statusMost),
		count("status writes of one offloading", p.mostStatusWrites()).atMost(float64(mostStatusWritesDeleting + p.providers)),
	}, p.common()...)
	for i := range figures {
		figures[i].what = "deleting: " + figures[i].what
	}
	return figures
}

// common returns the figures that both phases have.
func (p phase) common() []figure {
	all := p.Sum(requests.Finite)
	bounded := p.remote(requests.Create) + p.remote(requests.Delete) + p.mapWrites("").Requests + p.mapWrites("status").Requests +
		p.Sum(requests.Writes, requests.Resource("namespaceoffloadings"), requests.Subresource("status")).Requests
	return []figure{
		count("other requests", all.Requests-bounded).atMost(otherRequests*float64(p.n) + fewOtherRequests),
		count("requests that were refused", all.Failed),
		count("writes that change nothing", all.NoOps).exactly(0),
		measured("requests an offloading", "%.2f", float64(all.Requests)/float64(p.n)),
		measured("KiB sent", "%.0f", float64(all.BytesSent)/(1<<10)),
		measured("seconds", "%.1f", p.wall.Seconds()),
	}
}

// remote counts the requests for namespaces of the providers.
func (p phase) remote(verb string) int {
	return p.Sum(requests.Verb(verb), requests.Resource("namespaces"), requests.Not(requests.Cluster(consumer))).Requests
}

func (p phase) mapWrites(subresource string) requests.Count {
	return p.Sum(requests.Writes, requests.Resource("namespacemaps"), requests.Subresource(subresource))
}

// mostStatusWrites returns the highest number of status writes of one NamespaceOffloading.
func (p phase) mostStatusWrites() int {
	_, most := p.MostWrites(func(o requests.Object) bool {
		return o.Resource == "namespaceoffloadings" && o.Subresource == "status"
	})
	return most
}
