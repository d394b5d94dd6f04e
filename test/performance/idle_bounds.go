package performance

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// Intervals of the periodic requests. They are the defaults of the manager and of client-go, whose watches
// end after five to ten minutes. A list comes after a watch has ended and could not be renewed.
const (
	nodeLeaseInterval = 10 * time.Second
	leaseInterval     = 5 * time.Second // Of the Lease in a provider.
	probeInterval     = 30 * time.Second
	watchInterval     = 5 * time.Minute
)

// mostIdle returns how many requests of a class an idle manager may send. It does not depend on pods or
// namespaces; that watches do not either has a bound of its own. One more of each is allowed, because an
// interval may begin or end at the edge.
func mostIdle(class idleClass, idle time.Duration, providers, watches int) int {
	times := func(interval time.Duration) int { return int(idle/interval) + 1 }
	switch class {
	case leases:
		return providers * (times(nodeLeaseInterval) + times(leaseInterval))
	case probes:
		return providers * times(probeInterval)
	case renewed:
		return (watches + providers) * times(watchInterval)
	case relists:
		return providers * times(watchInterval)
	default:
		return 0
	}
}

// punctual is the share of the periodic requests that must come. It is not 1, because an interval begins when
// the last renewal was answered, and Kubernetes lengthens a Lease's interval by up to 4 % at random.
const punctual = 0.75

// leastIdle returns how many requests are required. Fewer would mean that the log shows nothing.
func leastIdle(class idleClass, idle time.Duration, providers int) int {
	times := func(interval time.Duration) int { return max(0, int(punctual*float64(idle/interval))-1) }
	switch class {
	case leases:
		return providers * (times(nodeLeaseInterval) + times(leaseInterval))
	case probes:
		return providers * times(probeInterval)
	default:
		return 0
	}
}

// inUse are the kinds that the pods of this benchmark need. When there are pods, the manager also watches
// these kinds: in each provider, and in the consumer for each binding.
var inUse = []string{"configmaps"}

// using returns how many bindings use such kinds.
func (s IdleState) using() int {
	if s.Pods == 0 {
		return 0
	}
	return s.Providers
}

// asWith returns the watches and connections that the state should have, derived from first, a state with one
// provider. Each provider has the same. The consumer has a pod watch for each further binding. Both have the
// kinds in use.
func (s IdleState) asWith(first IdleState) IdleState {
	one := first.connected()
	watches, connections := maps.Clone(first.Watches), map[string]int{consumer: first.Connections[consumer]}
	add := func(key string, n int) {
		if n != 0 {
			watches[key] += n
		}
	}
	add(consumer+": pods", s.Providers-first.Providers)
	for _, kind := range inUse {
		add(consumer+": "+kind, s.using()-first.using())
		for _, provider := range one {
			add(provider+": "+kind, min(1, s.using())-first.using())
		}
	}
	ofOne := maps.Clone(watches)
	for _, provider := range s.connected() {
		for key, n := range ofOne {
			if cluster, resource, _ := strings.Cut(key, ": "); len(one) == 1 && cluster == one[0] {
				watches[provider+": "+resource] = n
			}
		}
		if len(one) == 1 {
			connections[provider] = first.Connections[one[0]]
		}
	}
	s.Watches, s.Connections = watches, connections
	return s
}

// Broken returns the bounds that the state has broken. first is the state with one provider and no pods.
func (s IdleState) Broken(first IdleState) []error {
	var broken []error
	wrong := func(format string, args ...any) {
		about := fmt.Sprintf("%d providers, %d pods in %d namespaces: ", s.Providers, s.Pods, s.Namespaces)
		broken = append(broken, fmt.Errorf(about+format, args...))
	}
	idle := time.Duration(s.Seconds * float64(time.Second))
	for _, class := range []idleClass{leases, probes, renewed, relists, others} {
		most, least := mostIdle(class, idle, s.Providers, s.openWatches()), leastIdle(class, idle, s.Providers)
		if count := s.Requests[class]; count < least || count > most {
			wrong("%d requests (%s) in %s, want %d to %d", count, class, idle, least, most)
		}
	}
	for _, row := range s.Others {
		wrong("%d times %s in cluster %s, with nothing to do", row.Requests, what(row.Key), row.Cluster)
	}
	if len(s.connected()) != s.Providers {
		wrong("it was looked for connections to %v", s.connected())
	}
	for cluster, n := range s.Connections {
		if n == 0 || inCluster(s.Watches, cluster) == 0 {
			wrong("%d connections to cluster %s, and %d watches: it cannot be seen", n, cluster, inCluster(s.Watches, cluster))
		}
	}
	want := s.asWith(first)
	if !maps.Equal(s.Watches, want.Watches) {
		wrong("the open watches are %v, want %v", s.Watches, want.Watches)
	}
	if !maps.Equal(s.Connections, want.Connections) {
		wrong("the connections are %v, want %v", s.Connections, want.Connections)
	}
	return broken
}
