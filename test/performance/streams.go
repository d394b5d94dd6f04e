package performance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
)

// goalStreams is the goal for the rate of streams through Spillway, as a share of the rate of the same
// streams sent straight to the provider's API server. It depends on the machine too, so it fails nothing.
const goalStreams = 0.8

// StreamRate is the rate of several runs each, in MB/s.
type StreamRate struct {
	What              string
	Straight, Relayed []float64
	// CPU and RelayedCPU are the CPU seconds for a GB, straight and through Spillway.
	CPU, RelayedCPU StreamCPU
}

// streamParts are the processes that take part in streams.
var streamParts = [...]string{"kubectl", "kubelets, and clients of logs", "provider's API server", "manager", "consumer's API server"}

// StreamCPU has the CPU seconds of each of streamParts.
type StreamCPU [len(streamParts)]float64

func (c StreamCPU) all() float64 {
	sum := 0.0
	for _, one := range c {
		sum += one
	}
	return sum
}

// add adds more, times a factor.
func (c *StreamCPU) add(more StreamCPU, factor float64) {
	for i := range c {
		c[i] += more[i] * factor
	}
}

// cells returns the cells of a row.
func (c StreamCPU) cells() []string {
	var cells []string
	for _, one := range append(c[:], c.all()) {
		cells = append(cells, fmt.Sprintf("%.1f", one))
	}
	return cells
}

// Ratio returns the rate through Spillway divided by the straight rate.
func (r StreamRate) Ratio() float64 { return median(r.Relayed) / median(r.Straight) }

// median returns the middle figure, or the mean of the two in the middle.
func median(all []float64) float64 {
	ascending := slices.Sorted(slices.Values(all))
	return (ascending[(len(all)-1)/2] + ascending[len(all)/2]) / 2
}

// StreamMemory is how much of the manager's memory so many open streams use.
type StreamMemory struct {
	Of        string
	Streams   int
	Heap, RSS int64
}

// StreamsReport is written as JSON, and copied into docs/benchmarks.md.
type StreamsReport struct {
	Date, Command string
	// Commit is the measured commit.
	Commit  string
	Machine docs.Machine
	Rates   []StreamRate
	Memory  []StreamMemory
	// Forwards is how many ports were forwarded, each with its own stream. LeftOpen is how many of the
	// streams stayed open afterwards, as the manager's connections and the providers' kubelets show.
	Forwards, LeftOpen int
}

// Markdown returns the tables for readers.
func (r StreamsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s` at commit %s, %s, on %s.\n\n", r.Command, r.Commit, r.Date, r.Machine)
	var rows [][]string
	for _, rate := range r.Rates {
		rows = append(rows, []string{
			rate.What, fmt.Sprintf("≥ %.1f", goalStreams), fmt.Sprintf("%.0f", median(rate.Straight)), fmt.Sprintf("%.0f", median(rate.Relayed)),
			fmt.Sprintf("%.2f", rate.Ratio()), verdict(rate.Ratio() >= goalStreams), fmt.Sprintf("%.2f", rate.CPU.all()/rate.RelayedCPU.all()),
		})
	}
	b.WriteString(table([]string{"MB/s", "goal of the ratio"}, []string{"straight", "through Spillway", "ratio", "verdict", "ratio of CPU seconds"}, rows))
	rows = nil
	for _, rate := range r.Rates {
		rows = append(rows, append([]string{rate.What, "straight"}, rate.CPU.cells()...), append([]string{"", "through Spillway"}, rate.RelayedCPU.cells()...))
	}
	b.WriteString("\n" + table([]string{"CPU seconds a GB", "way"}, append(streamParts[:], "all"), rows))
	rows = nil
	for _, memory := range r.Memory {
		each := func(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/float64(memory.Streams)/1024) }
		rows = append(rows, []string{memory.Of, fmt.Sprint(memory.Streams), each(memory.Heap), each(memory.RSS)})
	}
	b.WriteString("\n" + table([]string{"memory of the manager for each open stream"}, []string{"streams", "heap, KiB", "RSS, KiB"}, rows))
	fmt.Fprintf(&b, "\nStreams that are open after %d forwards (bound: none): %d.\n", r.Forwards, r.LeftOpen)
	return b.String()
}
