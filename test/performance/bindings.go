package performance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/test/performance/docs"
)

// manyBindings is how many bindings are added to the first one.
const manyBindings = 100

// Goals for what an idle binding costs, and for many of them. The costs of a binding do not depend on the
// machine, so missing their goal fails the benchmark.
const (
	goalBindingMB         = 1.0
	goalBindingGoroutines = 100.0
	goalBindingWatches    = 12.0
	goalBindingsSeconds   = 10.0
	goalBindingsRSS       = 150.0 // MiB
	goalBindingsCPU       = 2.0   // % of a core
)

// BindingsState is what an idle manager uses with so many bindings to one provider.
type BindingsState struct {
	IdleState
	Bindings   int
	StackBytes int64
	// Goroutines counts by the function that they wait in.
	Goroutines map[string]int
}

func (s BindingsState) goroutines() int {
	total := 0
	for _, n := range s.Goroutines {
		total += n
	}
	return total
}

// BindingsReport is written as JSON, and copied into docs/benchmarks.md.
type BindingsReport struct {
	Date, Command string
	Machine       docs.Machine
	One, Many     BindingsState
	// ReadySeconds is from the creation of the many bindings until all are Ready. StartSeconds is from the
	// start of a manager until all providers are connected, and StartCPU is the CPU time used until then.
	ReadySeconds, StartSeconds, StartCPU float64
}

// each returns what one binding adds to a figure.
func (r BindingsReport) each(figure func(BindingsState) float64) float64 {
	return (figure(r.Many) - figure(r.One)) / float64(r.Many.Bindings-r.One.Bindings)
}

// bindingGoal is a goal for the cost of a binding.
type bindingGoal struct {
	what, format string
	most         float64
	of           func(BindingsState) float64
}

var bindingGoals = []bindingGoal{
	{"heap and stacks, MB", "%.2f", goalBindingMB, func(s BindingsState) float64 { return inMB(s.HeapBytes + s.StackBytes) }},
	{"goroutines", "%.1f", goalBindingGoroutines, func(s BindingsState) float64 { return float64(s.goroutines()) }},
	{"open watches", "%.1f", goalBindingWatches, func(s BindingsState) float64 { return float64(s.openWatches()) }},
}

// Broken returns the missed goals of a binding.
func (r BindingsReport) Broken() []string {
	var broken []string
	for _, goal := range bindingGoals {
		if figure := r.each(goal.of); figure > goal.most {
			broken = append(broken, fmt.Sprintf("an idle binding takes "+goal.format+" (%s), want at most %.0f", figure, goal.what, goal.most))
		}
	}
	return broken
}

// Markdown returns the goals, and where the goroutines of a binding wait.
func (r BindingsReport) Markdown() string {
	var rows [][]string
	row := func(what, format string, goal, figure float64) {
		rows = append(rows, []string{what, fmt.Sprintf("≤ %.0f", goal), fmt.Sprintf(format, figure), verdict(figure <= goal)})
	}
	for _, goal := range bindingGoals {
		row("a binding: "+goal.what, goal.format, goal.most, r.each(goal.of))
	}
	row("all: engaged after a start, s", "%.1f", goalBindingsSeconds, r.StartSeconds)
	row("all: RSS, MiB", "%.0f", goalBindingsRSS, float64(r.Many.RSSBytes)/(1<<20))
	row("all: CPU, % of a core", "%.1f", goalBindingsCPU, 100*r.Many.CPUSeconds/r.Many.Seconds)
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n%s", r.Command, r.Date, r.Machine, table([]string{"what", "goal"}, []string{"here", "verdict"}, rows))
	fmt.Fprintf(&b, "\nOf %d bindings, %d were Ready %.1f s after they were made; the start took %.1f CPU seconds. Most goroutines of a binding wait in:\n\n",
		r.Many.Bindings, manyBindings, r.ReadySeconds, r.StartCPU)
	rows = nil
	for _, function := range r.longest(10) {
		rows = append(rows, []string{"`" + function + "`", fmt.Sprintf("%.2f", r.waitIn(function))})
	}
	return b.String() + table([]string{"function"}, []string{"goroutines"}, rows)
}

// waitIn returns how many goroutines of a binding wait in a function.
func (r BindingsReport) waitIn(function string) float64 {
	return r.each(func(s BindingsState) float64 { return float64(s.Goroutines[function]) })
}

// longest returns the functions that most goroutines of a binding wait in.
func (r BindingsReport) longest(most int) []string {
	all := slices.SortedFunc(maps.Keys(r.Many.Goroutines), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.waitIn(b), r.waitIn(a)), strings.Compare(a, b))
	})
	return all[:min(most, len(all))]
}
