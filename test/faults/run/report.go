package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// Report is printed at the end, written as JSON, and copied into docs/reliability.md.
type Report struct {
	// Command, Date and Machine say where the figures come from.
	Command, Date, Machine string
	// Seconds is how long the runs took, and Lanes how many ran at a time.
	Seconds float64
	Lanes   int
	// Points is the number of writes in the reference run of each scenario. At each of them a fault can
	// happen.
	Points map[string]int
	// Spared are the points of each scenario at which no fault happened.
	Spared map[string][]string
	// PointsHit is the number of points of all scenarios at which a fault happened.
	PointsHit int
	// Isolation describes one provider while another one was away.
	Isolation Isolation
	// Again is how many runs were repeated because the harness had failed.
	Again int
	// Lines has the results by part and scenario.
	Lines []*Line
	// Divergences are all runs with problems.
	Divergences []Divergence
	// Bugs are the seeded bugs.
	Bugs []Caught
}

// Line sums up the runs of a part with a scenario.
type Line struct {
	Part     Part
	Scenario string
	Runs     int
	// Unreached are runs in which the fault did not happen, because the manager never sent the request. They
	// test nothing and do not count as passes.
	Unreached   int
	Divergences int
	// Seconds is the sum over all runs.
	Seconds float64
}

// Divergence is a run with problems.
type Divergence struct {
	Part              Part
	Scenario, Command string
	Problems          []string
	// Repeated is true if the run was repeated alone, and Again if it diverged then too.
	Repeated, Again bool
	// Smallest is the command of the diverging run with the fewest faults.
	Smallest string

	run Run
}

// Caught is a seeded bug, and the runs that caught it.
type Caught struct {
	Bug, Breaks string
	// Runs is how many were played with the bug, By has the commands of those that diverged.
	Runs int
	By   []string
	// Problems has the first problem of each of those runs.
	Problems []string
}

func newReport() *Report {
	return &Report{Points: map[string]int{}, Spared: map[string][]string{}}
}

// points records the points of a scenario, if faults are injected into its part.
func (r *Report) points(part Part, scenario string, all []recipe.Point) {
	if part != Reference {
		return
	}
	for _, point := range all {
		r.Spared[scenario] = append(r.Spared[scenario], point.String())
	}
	r.Points[scenario] = len(all)
}

func (r *Report) line(of Run) *Line {
	for _, line := range r.Lines {
		if line.Part == of.Part && line.Scenario == of.Scenario.Name {
			return line
		}
	}
	line := &Line{Part: of.Part, Scenario: of.Scenario.Name}
	r.Lines = append(r.Lines, line)
	return line
}

// played adds a run.
func (r *Report) played(of Run, o *Outcome) {
	line := r.line(of)
	line.Runs++
	line.Seconds += o.Took.Seconds()
	if !o.Reached(of.Recipe) {
		line.Unreached++
	}
	r.Isolation.note(of, o)
	for _, firing := range o.Fired {
		r.hit(of.Scenario.Name, firing.At.String())
	}
	if len(o.Problems) > 0 {
		line.Divergences++
		r.Divergences = append(r.Divergences, Divergence{
			Part: of.Part, Scenario: of.Scenario.Name, Command: Command(of), Problems: o.Problems, run: of,
		})
	}
}

// hit records that a fault happened at a point of the reference run.
func (r *Report) hit(scenario, point string) {
	spared := r.Spared[scenario]
	if i := slices.Index(spared, point); i >= 0 {
		r.Spared[scenario] = slices.Delete(spared, i, i+1)
		r.PointsHit++
	}
}

// Untested returns the parts in which no run reached its fault. Their zeroes say nothing.
func (r *Report) Untested(parts []Part) []Part {
	return slices.DeleteFunc(slices.Clone(parts), func(part Part) bool {
		if part == Seeded {
			return len(r.Bugs) > 0
		}
		return slices.ContainsFunc(r.Lines, func(line *Line) bool { return line.Part == part && line.Runs > line.Unreached })
	})
}

// Totals returns the sums of all lines.
func (r *Report) Totals() (scenarios, points, runs, unreached, divergences int) {
	seen := map[string]bool{}
	for _, line := range r.Lines {
		seen[line.Scenario] = true
		runs += line.Runs
		unreached += line.Unreached
		divergences += line.Divergences
	}
	for _, n := range r.Points {
		points += n
	}
	return len(seen), points, runs, unreached, divergences
}

// Missed returns the seeded bugs that no run has caught.
func (r *Report) Missed() []string {
	var missed []string
	for _, bug := range r.Bugs {
		if len(bug.By) == 0 {
			missed = append(missed, bug.Bug)
		}
	}
	return missed
}

// Summary returns one line with all totals.
func (r *Report) Summary() string {
	scenarios, points, runs, unreached, divergences := r.Totals()
	return fmt.Sprintf("%d scenarios, %d points (something went wrong at %d of them), %d runs (%d of them without their fault), %d divergences, %d of %d seeded bugs caught",
		scenarios, points, r.PointsHit, runs, unreached, divergences, len(r.Bugs)-len(r.Missed()), len(r.Bugs))
}

// Table has a line for each scenario and a column for each part.
func (r *Report) Table() string {
	var parts []Part
	var scenarios []string
	cells := map[string]*Line{}
	for _, line := range r.Lines {
		if !slices.Contains(parts, line.Part) {
			parts = append(parts, line.Part)
		}
		if !slices.Contains(scenarios, line.Scenario) {
			scenarios = append(scenarios, line.Scenario)
		}
		cells[string(line.Part)+" "+line.Scenario] = line
	}
	slices.SortFunc(parts, func(a, b Part) int {
		order := append([]Part{Reference}, Parts()...)
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	var b strings.Builder
	fmt.Fprint(&b, "| scenario | points |")
	for _, part := range parts {
		fmt.Fprintf(&b, " %s |", part)
	}
	fmt.Fprintf(&b, "\n|---|---:|%s\n", strings.Repeat("---:|", len(parts)))
	for _, scenario := range scenarios {
		points := "" // No faults are injected into the others.
		if n, counted := r.Points[scenario]; counted {
			points = strconv.Itoa(n)
		}
		fmt.Fprintf(&b, "| %s | %s |", scenario, points)
		for _, part := range parts {
			fmt.Fprintf(&b, " %s |", cells[string(part)+" "+scenario].cell())
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// cell shows the divergences among the runs that had their fault, and the number of other runs in
// parentheses.
func (l *Line) cell() string {
	if l == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d", l.Divergences, l.Runs-l.Unreached)
	if l.Unreached > 0 {
		text += fmt.Sprintf(" (+%d)", l.Unreached)
	}
	return text
}

// Write writes the report as JSON.
func (r *Report) Write(path string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}
