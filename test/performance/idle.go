package performance

import (
	"fmt"
	"strings"
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

// idleClass says what a request is for, when there is nothing to do.
type idleClass string

const (
	leases  idleClass = "leases"
	probes  idleClass = "probes"
	renewed idleClass = "watches renewed"
	// relists are those of events. An API server keeps no cache of them, so that
	// their watch learns no new version while there are none, and has to begin
	// anew once etcd has dropped the old one.
	relists idleClass = "events listed anew"
	others  idleClass = "others"
)

// classOf leaves nothing out: what is not brought by time alone is one of the others.
func classOf(k requests.Key) idleClass {
	switch {
	case k.Class == requests.Leases:
		return leases
	case k.Class == requests.Probes:
		return probes
	case k.Verb == requests.Watch:
		return renewed
	case k.Verb == requests.List && k.Resource == "events":
		return relists
	default:
		return others
	}
}

// How often time brings what: the manager's defaults, and client-go's, whose
// watches end after five to ten minutes. A list begins with the end of a watch,
// which is renewed in vain before.
const (
	leaseInterval = 5 * time.Second
	probeInterval = 3 * time.Second
	watchInterval = 5 * time.Minute
)

// mostIdle is how many requests of a class an idle manager may make. Nothing in
// it depends on pods or namespaces; that watches do not either is a bound of
// its own. One more of each is for where the intervals begin and end.
func mostIdle(class idleClass, idle time.Duration, providers, watches int) int {
	times := func(interval time.Duration) int { return int(idle/interval) + 1 }
	switch class {
	case leases:
		return providers * times(leaseInterval)
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

// IdleState is what was measured while nothing was changed.
type IdleState struct {
	Pods, Namespaces int
	Seconds          float64
	// Requests of the manager in that time, by class.
	Requests map[idleClass]int
	// Others are those that should not have been.
	Others []requests.Row `json:",omitempty"`
	// Watches are the open ones, as "cluster: resource"; Connections are by cluster.
	Watches, Connections map[string]int
	CPUSeconds           float64
	HeapBytes, RSSBytes  int64
}

// openWatches of all clusters.
func (s IdleState) openWatches() int {
	total := 0
	for _, n := range s.Watches {
		total += n
	}
	return total
}

// IdleReport is what is written as JSON, and told in docs/benchmarks.md.
type IdleReport struct {
	Date, Command string
	Machine       Machine
	Providers     int
	States        []IdleState
}

// Markdown is the table that people read.
func (r IdleReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n", r.Command, r.Date, r.Machine)
	row := func(name string, bound any, value func(IdleState) string) {
		fmt.Fprintf(&b, "| %s | %v |", name, bound)
		for _, state := range r.States {
			fmt.Fprintf(&b, " %s |", value(state))
		}
		b.WriteString("\n")
	}
	row("pods in namespaces", "bound", func(s IdleState) string { return fmt.Sprintf("%d in %d", s.Pods, s.Namespaces) })
	b.WriteString("|---|---|" + strings.Repeat("---:|", len(r.States)) + "\n")
	row("idle seconds", "", func(s IdleState) string { return fmt.Sprintf("%.0f", s.Seconds) })
	for _, class := range []idleClass{leases, probes, renewed, relists, others} {
		row("requests: "+string(class), r.bound(class), func(s IdleState) string { return fmt.Sprint(s.Requests[class]) })
	}
	row("open watches, consumer", "equal", func(s IdleState) string { return fmt.Sprint(inCluster(s.Watches, consumer)) })
	row("open watches, provider", "equal", func(s IdleState) string { return fmt.Sprint(s.openWatches() - inCluster(s.Watches, consumer)) })
	row("connections, consumer", "equal", func(s IdleState) string { return fmt.Sprint(s.Connections[consumer]) })
	row("connections, provider", "equal", func(s IdleState) string {
		total := 0
		for cluster, n := range s.Connections {
			if cluster != consumer {
				total += n
			}
		}
		return fmt.Sprint(total)
	})
	row("CPU seconds a minute", "", func(s IdleState) string { return fmt.Sprintf("%.2f", s.CPUSeconds/s.Seconds*60) })
	row("heap, MB", "", func(s IdleState) string { return megabytes(s.HeapBytes) })
	row("RSS, MB", "", func(s IdleState) string { return megabytes(s.RSSBytes) })
	return b.String()
}

// bound is that of the first state: it is the same for all, if the watches are.
func (r IdleReport) bound(class idleClass) string {
	if len(r.States) == 0 {
		return ""
	}
	idle := time.Duration(r.States[0].Seconds * float64(time.Second))
	return fmt.Sprintf("≤ %d", mostIdle(class, idle, r.Providers, r.States[0].openWatches()))
}

// inCluster adds up what "cluster: resource" is counted by.
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
