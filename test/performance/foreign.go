package performance

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// ForeignState is what was measured with so many pods in the consumer that are
// not offloaded.
type ForeignState struct {
	// Bound are on an ordinary node; Waiting have no node.
	Bound, Waiting int
	// Requests of the manager while those of this state, more than in the one
	// before, were made, without those that time brings.
	Requests []requests.Row `json:",omitempty"`
	// HeapBytes after a garbage collection, RSSBytes, and the most RSS so far.
	HeapBytes, RSSBytes, PeakRSSBytes int64
	CPUSeconds                        float64
}

// ForeignReport is what is written as JSON, and told in docs/benchmarks.md.
type ForeignReport struct {
	Date, Command string
	Machine       docs.Machine
	// Offloaded are the pods that the manager does serve.
	Offloaded int
	// PodBytes is the size of one of the foreign pods, as protocol buffers.
	PodBytes int
	States   []ForeignState
}

// perPod is what each foreign pod, more than in the state before, costs in heap.
func (r ForeignReport) perPod(i int) float64 {
	is, was := r.States[i], r.States[i-1]
	return float64(is.HeapBytes-was.HeapBytes) / float64(is.Bound+is.Waiting-was.Bound-was.Waiting)
}

// Markdown is the table that people read.
func (r ForeignReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s. %d pods are offloaded; a foreign pod is %d bytes.\n\n", r.Command, r.Date, r.Machine, r.Offloaded, r.PodBytes)
	row := func(name, goal string, value func(int, ForeignState) string) {
		fmt.Fprintf(&b, "| %s | %s |", name, goal)
		for i, state := range r.States {
			fmt.Fprintf(&b, " %s |", value(i, state))
		}
		b.WriteString("\n")
	}
	row("foreign pods: on a node + waiting for one", "bound or goal", func(_ int, s ForeignState) string { return fmt.Sprintf("%d + %d", s.Bound, s.Waiting) })
	b.WriteString("|---|---|" + strings.Repeat("---:|", len(r.States)) + "\n")
	row("requests because of them", "0", func(_ int, s ForeignState) string { return fmt.Sprint(total(s.Requests)) })
	row("heap, MB", "", func(_ int, s ForeignState) string { return megabytes(s.HeapBytes) })
	row("heap for each of them, bytes", "≤ 1024", func(i int, _ ForeignState) string {
		if i == 0 {
			return ""
		}
		return fmt.Sprintf("%.0f", r.perPod(i))
	})
	row("RSS, MB", "", func(_ int, s ForeignState) string { return megabytes(s.RSSBytes) })
	row("peak RSS, MB", "", func(_ int, s ForeignState) string { return megabytes(s.PeakRSSBytes) })
	row("CPU seconds meanwhile", "", func(_ int, s ForeignState) string { return fmt.Sprintf("%.2f", s.CPUSeconds) })
	return b.String()
}

func total(rows []requests.Row) int {
	n := 0
	for _, row := range rows {
		n += row.Requests
	}
	return n
}
