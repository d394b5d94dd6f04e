package performance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/test/requests"
)

// RestartResult is what a new manager did that found all as it should be.
type RestartResult struct {
	Pods, Namespaces int
	// Seconds from its start to its last request besides those that time brings.
	Seconds    float64
	CPUSeconds float64
	// Writes without leases; Changed are the objects that were changed.
	Writes  int
	Changed []string `json:",omitempty"`
	// Rows are all requests without leases and probes.
	Rows                    []requests.Row
	HeapBytes, PeakRSSBytes int64
}

// reads counts the requests of a cluster and a verb.
func (r RestartResult) reads(key requests.Key) int {
	n := 0
	for _, row := range r.Rows {
		if row.Cluster == key.Cluster && row.Verb == key.Verb {
			n += row.Requests
		}
	}
	return n
}

// reading is what is read, by cluster, verb and resource.
func (r RestartResult) reading() map[requests.Key]int {
	counts := map[requests.Key]int{}
	for _, row := range r.Rows {
		if !requests.Writes(row.Key) {
			counts[row.Key] += row.Requests
		}
	}
	return counts
}

// RestartReport is what is written as JSON, and told in docs/benchmarks.md.
type RestartReport struct {
	Date, Command string
	Machine       Machine
	Results       []RestartResult
}

// Markdown is the table that people read.
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
	row("seconds until the last request", "", func(r RestartResult) string { return fmt.Sprintf("%.1f", r.Seconds) })
	row("CPU seconds", "", func(r RestartResult) string { return fmt.Sprintf("%.1f", r.CPUSeconds) })
	row("heap, MB", "", func(r RestartResult) string { return megabytes(r.HeapBytes) })
	row("peak RSS, MB", "", func(r RestartResult) string { return megabytes(r.PeakRSSBytes) })
	for _, key := range r.keys() {
		row(key.Cluster+": "+key.Verb, "equal", func(r RestartResult) string { return fmt.Sprint(r.reads(key)) })
	}
	return b.String()
}

// keys are the clusters and verbs of what any of the managers has read.
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
