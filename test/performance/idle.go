package performance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

// idleClass classifies the requests of an idle manager.
type idleClass string

const (
	leases  idleClass = "leases"
	probes  idleClass = "probes"
	renewed idleClass = "watches renewed"
	// relists are of events. An API server does not cache events, so their watch learns no new version while
	// there are none. It has to begin again when etcd has compacted the old version.
	relists idleClass = "events listed anew"
	others  idleClass = "others"
)

// classOf classifies every request: one that is not periodic is one of the others.
func classOf(k requests.Key) idleClass {
	switch {
	case k.Class == requests.Leases:
		return leases
	case k.Class == requests.Probes, k.Resource == "/openapi/v3": // /openapi/v3 has the fields of the kinds.
		return probes
	case k.Verb == requests.Watch:
		return renewed
	case k.Verb == requests.List && k.Resource == "events":
		return relists
	default:
		return others
	}
}

// Intervals of the periodic requests. They are the defaults of the manager and of client-go, whose watches
// end after five to ten minutes. A list comes after a watch has ended and could not be renewed.
const (
	nodeLeaseInterval = 10 * time.Second
	leaseInterval     = 6 * time.Second // Of the Lease in a provider.
	probeInterval     = time.Minute
	watchInterval     = 5 * time.Minute
)

// punctual is the share of the periodic requests that must come. It is not 1, because after a request that was
// refused or slow, the next ones come at other moments.
const punctual = 0.75

// idleState is a measurement while nothing changes.
type idleState struct {
	pods, namespaces int
	idle             time.Duration
	// requests are the manager's requests in that time, by class.
	requests map[idleClass]int
	// watches counts the open watches, by "cluster: resource". connections is by cluster.
	watches, connections map[string]int
	cpuSeconds           float64
	heap, rss            int64
}

// figures returns the figures of the state. first is the state with one provider and no pods, with whose
// watches it is compared.
func (s idleState) figures(first idleState) []figure {
	all := s.requestFigures()
	// Each binding but the first adds a watch of its pods in the consumer. The pods of this benchmark need
	// ConfigMaps. When there are pods, each binding watches these in the consumer and in its provider.
	clusters, using := slices.Sorted(maps.Keys(s.connections)), min(1, s.pods)
	for _, cluster := range clusters {
		want := first.watchesOf(firstProvider) + using
		if cluster == consumer {
			want = first.watchesOf(consumer) + s.providers() - 1 + using*s.providers()
		}
		all = append(all,
			count("open watches, "+cluster, s.watchesOf(cluster)).between(max(1, float64(want)), float64(want)),
			count("connections, "+cluster, s.connections[cluster]).exactly(1))
	}
	return append(all,
		measured("CPU seconds a minute", "%.2f", s.cpuSeconds/s.idle.Minutes()),
		measured("heap, MB", "%.1f", inMB(s.heap)), measured("RSS, MB", "%.1f", inMB(s.rss)))
}

// firstProvider is the provider of the first state.
const firstProvider = "p1"

// requestFigures returns the numbers of requests. Their bounds do not depend on pods or namespaces. One more
// or less of each is allowed, because an interval may begin or end at the edge. Too few would mean that the
// log shows nothing.
func (s idleState) requestFigures() []figure {
	most := func(interval time.Duration) int { return int(s.idle/interval) + 1 }
	least := func(interval time.Duration) int {
		if s.idle < 2*interval {
			return 0
		}
		return max(1, int(punctual*float64(s.idle/interval))-1)
	}
	of := func(class idleClass, least, most int) figure {
		return count("requests: "+string(class), s.requests[class]).between(float64(least), float64(most))
	}
	n := s.providers()
	return []figure{
		of(leases, n*(least(nodeLeaseInterval)+least(leaseInterval)), n*(most(nodeLeaseInterval)+most(leaseInterval))),
		of(probes, n*least(probeInterval), n*most(probeInterval)),
		of(renewed, 0, (s.openWatches()+n)*most(watchInterval)),
		of(relists, 0, n*most(watchInterval)),
		of(others, 0, 0),
	}
}

// providers is the number of providers to which connections were counted.
func (s idleState) providers() int { return len(s.connections) - 1 }

func (s idleState) openWatches() int { return sum(s.watches) }

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

func (s idleState) watchesOf(cluster string) int {
	total := 0
	for key, n := range s.watches {
		if strings.HasPrefix(key, cluster+": ") {
			total += n
		}
	}
	return total
}

// String returns the name of the state.
func (s idleState) String() string { return fmt.Sprintf("%d pods in %d", s.pods, s.namespaces) }
