package performance

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
)

// goalStreams is the least that the rate of streams through Spillway should be, by that of
// the same streams straight at the provider's API server. The machine decides too, so it
// fails nothing.
const goalStreams = 0.8

// StreamRate is how fast bytes come, in MB/s, in several runs each.
type StreamRate struct {
	What              string
	Straight, Relayed []float64
	// CPUSeconds are the manager's, for a GB that it relays.
	CPUSeconds float64
}

// Ratio is how fast it is through Spillway, by how fast it is without.
func (r StreamRate) Ratio() float64 { return mean(r.Relayed) / mean(r.Straight) }

func mean(all []float64) float64 {
	sum := 0.0
	for _, one := range all {
		sum += one
	}
	return sum / float64(len(all))
}

// StreamMemory is what so many open streams take of the manager's memory.
type StreamMemory struct {
	Of        string
	Streams   int
	Heap, RSS int64
}

// StreamsReport is what is written as JSON, and told in docs/benchmarks.md.
type StreamsReport struct {
	Date, Command string
	// Commit is what was measured.
	Commit  string
	Machine docs.Machine
	Rates   []StreamRate
	Memory  []StreamMemory
	// Forwards is how many ports were forwarded, each by a stream of its own, and LeftOpen
	// how many of the streams were open afterwards, as the manager's connections and the
	// providers' kubelets show.
	Forwards, LeftOpen int
}

// Markdown are the tables that people read.
func (r StreamsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s` at commit %s, %s, on %s.\n\n", r.Command, r.Commit, r.Date, r.Machine)
	var rows [][]string
	for _, rate := range r.Rates {
		rows = append(rows, []string{
			rate.What, fmt.Sprintf("≥ %.1f", goalStreams), fmt.Sprintf("%.0f", mean(rate.Straight)), fmt.Sprintf("%.0f", mean(rate.Relayed)),
			fmt.Sprintf("%.2f", rate.Ratio()), verdict(rate.Ratio() >= goalStreams), fmt.Sprintf("%.1f", rate.CPUSeconds),
		})
	}
	b.WriteString(table([]string{"MB/s", "goal of the ratio"}, []string{"straight", "through Spillway", "ratio", "verdict", "CPU seconds of the manager a GB"}, rows))
	rows = nil
	for _, memory := range r.Memory {
		each := func(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/float64(memory.Streams)/1024) }
		rows = append(rows, []string{memory.Of, fmt.Sprint(memory.Streams), each(memory.Heap), each(memory.RSS)})
	}
	b.WriteString("\n" + table([]string{"memory of the manager for each open stream"}, []string{"streams", "heap, KiB", "RSS, KiB"}, rows))
	fmt.Fprintf(&b, "\nStreams that are open after %d forwards (bound: none): %d.\n", r.Forwards, r.LeftOpen)
	return b.String()
}
