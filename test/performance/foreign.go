package performance

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
	"github.com/spillway-io/spillway/test/requests"
)

// ForeignState is a measurement with so many pods in the consumer that are not offloaded.
type ForeignState struct {
	// Bound pods are on an ordinary node; Waiting pods have no node.
	Bound, Waiting int
	// Requests are those that the manager sent while the additional pods of this state were created, without
	// periodic ones.
	Requests []requests.Row `json:",omitempty"`
	// HeapBytes is after a garbage collection. PeakRSSBytes is the highest RSS so far.
	HeapBytes, RSSBytes, PeakRSSBytes int64
	CPUSeconds                        float64
}

// ForeignReport is written as JSON, and copied into docs/benchmarks.md.
type ForeignReport struct {
	Date, Command string
	Machine       docs.Machine
	// Offloaded is the number of pods that the manager does serve.
	Offloaded int
	// PodBytes is the size of one foreign pod in protobuf.
	PodBytes int
	States   []ForeignState
}

// perPod returns the heap bytes of each pod that this state has more than the previous one.
func (r ForeignReport) perPod(i int) float64 {
	is, was := r.States[i], r.States[i-1]
	return float64(is.HeapBytes-was.HeapBytes) / float64(is.Bound+is.Waiting-was.Bound-was.Waiting)
}

// Markdown returns the table for readers.
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
