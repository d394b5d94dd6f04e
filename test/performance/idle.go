package performance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spillway-io/spillway/test/performance/docs"
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

// IdleState is a measurement while nothing changes.
type IdleState struct {
	Providers, Pods, Namespaces int
	Seconds                     float64
	// Requests are the manager's requests in that time, by class.
	Requests map[idleClass]int
	// Others are requests that should not have been sent.
	Others []requests.Row `json:",omitempty"`
	// Watches counts the open watches, by "cluster: resource". Connections is by cluster.
	Watches, Connections map[string]int
	CPUSeconds           float64
	HeapBytes, RSSBytes  int64
}

// openWatches returns the number of open watches in all clusters.
func (s IdleState) openWatches() int {
	total := 0
	for _, n := range s.Watches {
		total += n
	}
	return total
}

// IdleReport is written as JSON, and copied into docs/benchmarks.md.
type IdleReport struct {
	Date, Command string
	Machine       docs.Machine
	// States with one provider come first.
	States []IdleState
}

// Markdown returns the tables for readers, one for each number of providers.
func (r IdleReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n", r.Command, r.Date, r.Machine)
	for states := r.States; len(states) > 0; {
		same := 1
		for same < len(states) && states[same].Providers == states[0].Providers {
			same++
		}
		fmt.Fprintf(&b, "\nProviders: %d.\n\n%s", states[0].Providers, idleTable(states[:same], r.States[0]))
		states = states[same:]
	}
	return b.String()
}

// idleTable returns the table of states with the same providers. It compares them with the first state of
// all, and takes the bound of requests from the first state of the table.
func idleTable(states []IdleState, first IdleState) string {
	var b strings.Builder
	row := func(name string, bound any, value func(IdleState) string) {
		fmt.Fprintf(&b, "| %s | %v |", name, bound)
		for _, state := range states {
			fmt.Fprintf(&b, " %s |", value(state))
		}
		b.WriteString("\n")
	}
	row("pods in namespaces", "bound", func(s IdleState) string { return fmt.Sprintf("%d in %d", s.Pods, s.Namespaces) })
	b.WriteString("|---|---|" + strings.Repeat("---:|", len(states)) + "\n")
	row("idle seconds", "", func(s IdleState) string { return fmt.Sprintf("%.0f", s.Seconds) })
	for _, class := range []idleClass{leases, probes, renewed, relists, others} {
		row("requests: "+string(class), states[0].bound(class), func(s IdleState) string { return fmt.Sprint(s.Requests[class]) })
	}
	held := func(name string, value func(IdleState) string) {
		var bounds []string
		for _, state := range states {
			bounds = append(bounds, value(state.asWith(first)))
		}
		row(name, strings.Join(slices.Compact(bounds), ", then "), value)
	}
	held("open watches, consumer", func(s IdleState) string { return fmt.Sprint(inCluster(s.Watches, consumer)) })
	held("open watches, each provider", func(s IdleState) string { return each(s, s.watchesOf) })
	held("connections, consumer", func(s IdleState) string { return fmt.Sprint(s.Connections[consumer]) })
	held("connections, each provider", func(s IdleState) string { return each(s, s.connectionsTo) })
	row("CPU seconds a minute", "", func(s IdleState) string { return fmt.Sprintf("%.2f", s.CPUSeconds/s.Seconds*60) })
	row("heap, MB", "", func(s IdleState) string { return megabytes(s.HeapBytes) })
	row("RSS, MB", "", func(s IdleState) string { return megabytes(s.RSSBytes) })
	return b.String()
}

// bound returns how many requests of a class are allowed, and how many are required.
func (s IdleState) bound(class idleClass) string {
	idle := time.Duration(s.Seconds * float64(time.Second))
	most, least := mostIdle(class, idle, s.Providers, s.openWatches()), leastIdle(class, idle, s.Providers)
	if least > 0 {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprintf("≤ %d", most)
}

func (s IdleState) watchesOf(cluster string) int     { return inCluster(s.Watches, cluster) }
func (s IdleState) connectionsTo(cluster string) int { return s.Connections[cluster] }

// each returns a figure of each provider, or one number if it is the same for all.
func each(s IdleState, figure func(provider string) int) string {
	var all []string
	for _, provider := range s.connected() {
		all = append(all, fmt.Sprint(figure(provider)))
	}
	if len(slices.Compact(slices.Clone(all))) == 1 {
		return all[0]
	}
	return strings.Join(all, ", ")
}

// connected returns the providers whose connections were counted.
func (s IdleState) connected() []string {
	clusters := slices.Sorted(maps.Keys(s.Connections))
	return slices.DeleteFunc(clusters, func(cluster string) bool { return cluster == consumer })
}

// inCluster sums up counts by "cluster: resource" for one cluster.
func inCluster(counts map[string]int, cluster string) int {
	total := 0
	for key, n := range counts {
		if strings.HasPrefix(key, cluster+": ") {
			total += n
		}
	}
	return total
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/1e6) }
