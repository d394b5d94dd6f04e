package performance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// RestartResult is what a new manager did that found everything up to date.
type RestartResult struct {
	Pods, Namespaces int
	// Seconds from its start to its last request in the first ten seconds. Watches count, Leases and probes
	// do not.
	Seconds    float64
	CPUSeconds float64
	// Writes without Leases. Changed are the objects that changed.
	Writes  int
	Changed []string `json:",omitempty"`
	// Rows are all requests without Leases and probes.
	Rows                    []requests.Row
	HeapBytes, PeakRSSBytes int64
}

// reads counts the requests by cluster and verb.
func (r RestartResult) reads(key requests.Key) int {
	n := 0
	for _, row := range r.Rows {
		if row.Cluster == key.Cluster && row.Verb == key.Verb {
			n += row.Requests
		}
	}
	return n
}

// reading counts the reads by cluster, verb and resource.
func (r RestartResult) reading() map[requests.Key]int {
	counts := map[requests.Key]int{}
	for _, row := range r.Rows {
		if !requests.Writes(row.Key) {
			counts[row.Key] += row.Requests
		}
	}
	return counts
}

// Broken returns the bounds that the restart has broken. first is the restart with the fewest pods.
func (r RestartResult) Broken(first RestartResult) []error {
	var broken []error
	wrong := func(format string, args ...any) {
		broken = append(broken, fmt.Errorf("%d pods: "+format, append([]any{r.Pods}, args...)...))
	}
	for _, row := range r.Rows {
		if requests.Writes(row.Key) {
			wrong("written after a restart: %d times %s in cluster %s", row.Requests, what(row.Key), row.Cluster)
		}
	}
	if r.Writes > 0 && len(broken) == 0 {
		wrong("%d writes after a restart", r.Writes)
	}
	if len(r.Changed) > 0 {
		wrong("changed by a restart: %v", r.Changed)
	}
	// If no reads are seen, the zero of the writes proves nothing.
	here, there := 0, 0
	for key, n := range r.reading() {
		if key.Cluster == consumer {
			here += n
		} else {
			there += n
		}
	}
	if here == 0 || there == 0 || r.Seconds <= 0 {
		wrong("read after a restart: %d times in the consumer and %d times in a provider, the last time after %.1f s: it cannot be seen", here, there, r.Seconds)
	}
	if !maps.Equal(r.reading(), first.reading()) {
		wrong("read after a restart: %v, and with %d pods: %v", r.reading(), first.Pods, first.reading())
	}
	return broken
}

// RestartReport is written as JSON, and copied into docs/benchmarks.md.
type RestartReport struct {
	Date, Command string
	Machine       docs.Machine
	Results       []RestartResult
}

// Markdown returns the table for readers.
func (r RestartReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n", r.Command, r.Date, r.Machine)
	row := func(name, bound string, value func(RestartResult) string) {
		fmt.Fprintf(&b, "| %s | %s |", name, bound)
		for _, result := range r.Results {
			fmt.Fprintf(&b, " %s |", value(result))
		}
		b.WriteString("\n")
	}
	row("pods in namespaces", "bound", func(r RestartResult) string { return fmt.Sprintf("%d in %d", r.Pods, r.Namespaces) })
	b.WriteString("|---|---|" + strings.Repeat("---:|", len(r.Results)) + "\n")
	row("writes", "0", func(r RestartResult) string { return fmt.Sprint(r.Writes) })
	row("objects changed", "0", func(r RestartResult) string { return fmt.Sprint(len(r.Changed)) })
	row("seconds until the last request of the start begins", "", func(r RestartResult) string { return fmt.Sprintf("%.1f", r.Seconds) })
	row("CPU seconds", "", func(r RestartResult) string { return fmt.Sprintf("%.1f", r.CPUSeconds) })
	row("heap, MB", "", func(r RestartResult) string { return megabytes(r.HeapBytes) })
	row("peak RSS, MB", "", func(r RestartResult) string { return megabytes(r.PeakRSSBytes) })
	for _, key := range r.keys() {
		row(key.Cluster+": "+key.Verb, "equal", func(r RestartResult) string { return fmt.Sprint(r.reads(key)) })
	}
	return b.String()
}

// keys returns the clusters and verbs of all reads.
func (r RestartReport) keys() []requests.Key {
	var keys []requests.Key
	for _, result := range r.Results {
		for _, row := range result.Rows {
			key := requests.Key{Cluster: row.Cluster, Verb: row.Verb}
			if !requests.Writes(row.Key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
