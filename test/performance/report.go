package performance

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spillway-io/spillway/test/requests"
)

func (p Phase) summary() string {
	return fmt.Sprintf("%.1f s, %d requests (%d writes, %d failed, %d without effect), maps written %d+%d times, an offloading's status at most %d times",
		p.Seconds, p.Requests, p.Writes, p.Failed, p.NoOps, p.MapSpecWrites, p.MapStatusWrites, p.MostStatusWrites)
}

// Markdown returns the table for readers.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n", r.Command, r.Date, r.Machine)
	row := func(name string, bound string, value func(Result) string) {
		fmt.Fprintf(&b, "| %s | %s |", name, bound)
		for _, result := range r.Results {
			fmt.Fprintf(&b, " %s |", value(result))
		}
		b.WriteString("\n")
	}
	count := func(value func(Result) int) func(Result) string {
		return func(r Result) string { return fmt.Sprint(value(r)) }
	}
	row("N offloadings × providers", "bound", func(r Result) string { return fmt.Sprintf("%d × %d", r.N, r.Providers) })
	b.WriteString("|---|---|" + strings.Repeat("---:|", len(r.Results)) + "\n")
	row("remote namespaces created", "N×C", count(func(r Result) int { return r.Offload.RemoteCreates }))
	row("writes of all NamespaceMaps: spec + status", "< N/5, or ≤ 4·C", func(r Result) string {
		return fmt.Sprintf("%d + %d", r.Offload.MapSpecWrites, r.Offload.MapStatusWrites)
	})
	row("status writes of one offloading, at most", fmt.Sprintf("≤ %d", mostStatusWrites), count(func(r Result) int { return r.Offload.MostStatusWrites }))
	row("requests until all are Ready", "a + b·N", count(func(r Result) int { return r.Offload.Requests }))
	row("of them an offloading", "", func(r Result) string { return perOffloading(r, r.Offload) })
	row("of them status writes of offloadings", fmt.Sprintf("≤ %d·N", mostStatusWrites), count(func(r Result) int { return statusWrites(r.Offload) }))
	row("of them refused (conflicts)", "", count(func(r Result) int { return r.Offload.Failed }))
	row("KiB sent", "", count(func(r Result) int { return int(r.Offload.BytesSent >> 10) }))
	row("seconds until all are Ready", "", func(r Result) string { return fmt.Sprintf("%.1f", r.Offload.Seconds) })
	row("writes after a restart", "0", count(func(r Result) int { return r.Restart.Writes }))
	row("differences to the audit logs, in all phases", "0", count(func(r Result) int { return len(r.Differences) }))
	row("writes that change nothing, in all phases", "0", count(func(r Result) int { return r.Offload.NoOps + r.Restart.NoOps + r.Delete.NoOps }))
	row("deleting: remote namespaces deleted", "N×C", count(func(r Result) int { return r.Delete.RemoteDeletes }))
	apart := fmt.Sprintf("≤ C·(t/%v + 1) + C·(t/%v + 1)", specWritesApart.Seconds(), statusWritesApart.Seconds())
	row("deleting: writes of all NamespaceMaps: spec + status", apart, func(r Result) string {
		return fmt.Sprintf("%d + %d", r.Delete.MapSpecWrites, r.Delete.MapStatusWrites)
	})
	row("deleting: status writes of one offloading, at most", fmt.Sprintf("≤ %d + C", mostStatusWritesDeleting), count(func(r Result) int { return r.Delete.MostStatusWrites }))
	row("deleting: requests", "a + b·N", count(func(r Result) int { return r.Delete.Requests }))
	row("of them an offloading", "", func(r Result) string { return perOffloading(r, r.Delete) })
	row("deleting: KiB sent", "", count(func(r Result) int { return int(r.Delete.BytesSent >> 10) }))
	row("deleting: seconds until all are gone", "", func(r Result) string { return fmt.Sprintf("%.1f", r.Delete.Seconds) })
	b.WriteString(r.growth())
	b.WriteString(r.perCluster())
	return b.String()
}

// growth returns how requests and bytes grow with N; empty if that is unknown.
func (r Report) growth() string {
	var b strings.Builder
	for _, fit := range []struct {
		what, unit string
		*Growth
	}{
		{"offloading", "requests", r.OffloadGrowth}, {"deleting", "requests", r.DeleteGrowth},
		{"offloading", "KiB sent", r.OffloadKiB}, {"deleting", "KiB sent", r.DeleteKiB},
	} {
		if fit.Growth != nil {
			fmt.Fprintf(&b, "\nGrowth, %s: %s\n", fit.what, fit.of(fit.unit))
		}
	}
	return b.String()
}

// of describes the growth of a figure.
func (g Growth) of(figure string) string {
	return fmt.Sprintf("%s = %.0f + %.3f·N; no point is further than %.1f %% off the line, and an N² term has %.1f %% of the %s at the largest N.",
		figure, g.Fixed, g.PerN, 100*g.Residual, 100*g.Square, figure)
}

func perOffloading(r Result, p Phase) string {
	return fmt.Sprintf("%.2f", float64(p.Requests)/float64(r.N))
}

// statusWrites returns the status writes of all NamespaceOffloadings.
func statusWrites(p Phase) int {
	total := 0
	for _, row := range p.Rows {
		if row.Resource == "namespaceoffloadings" && row.Subresource == "status" {
			total += row.Requests
		}
	}
	return total
}

// perCluster returns the requests of the largest N, by cluster, verb and resource.
func (r Report) perCluster() string {
	if len(r.Results) == 0 {
		return ""
	}
	last := r.Results[len(r.Results)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "\nBy cluster, verb and resource, at N = %d:\n\n| cluster | request | offloading | an offloading | deleting | an offloading |\n|---|---|---:|---:|---:|---:|\n", last.N)
	offload, remove := byKey(last.Offload.Rows), byKey(last.Delete.Rows)
	seen := map[requests.Key]bool{}
	for _, row := range append(append([]requests.Row{}, last.Offload.Rows...), last.Delete.Rows...) {
		if seen[row.Key] || !requests.Finite(row.Key) {
			continue
		}
		seen[row.Key] = true
		o, d := offload[row.Key], remove[row.Key]
		fmt.Fprintf(&b, "| %s | %s | %d | %.3f | %d | %.3f |\n", row.Cluster, what(row.Key), o, float64(o)/float64(last.N), d, float64(d)/float64(last.N))
	}
	return b.String()
}

func byKey(rows []requests.Row) map[requests.Key]int {
	counts := map[requests.Key]int{}
	for _, row := range rows {
		counts[row.Key] = row.Requests
	}
	return counts
}

func what(k requests.Key) string {
	if k.Subresource != "" {
		return k.Verb + " " + k.Resource + "/" + k.Subresource
	}
	return k.Verb + " " + k.Resource
}

// details returns every figure of every size, for the terminal.
func (r Report) details() string {
	var b strings.Builder
	for _, result := range r.Results {
		for _, phase := range []struct {
			name string
			Phase
		}{{"offloading", result.Offload}, {"restart", result.Restart}, {"deleting", result.Delete}} {
			fmt.Fprintf(&b, "N=%d, %s: %.1f s, %.1f CPU seconds, %d leases, %d events, %d probes, %d KiB sent\n",
				result.N, phase.name, phase.Seconds, phase.CPUSeconds, phase.Leases, phase.Events, phase.Probes, phase.BytesSent>>10)
			for _, row := range phase.Rows {
				fmt.Fprintf(&b, "  %-9s %-10s %-40s %7d %9.3f/offloading %5d failed %4d no-op %8d KiB\n", row.Cluster, row.Class, what(row.Key),
					row.Requests, float64(row.Requests)/float64(result.N), row.Failed, row.NoOps, row.BytesSent>>10)
			}
		}
	}
	return b.String()
}

// writeJSON writes a report for programs, completely or not at all.
func writeJSON(file string, report any) error {
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
