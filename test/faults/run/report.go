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
	"github.com/spillway-io/spillway/test/faults/seeded"
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
	// Sessions are the processes that contributed to the report.
	Sessions []Session
	// Unplayed are the commands of runs that no shard has played, because the reference runs of the shards
	// differed.
	Unplayed []string
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

	of *played
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

// apply adds a record. References come before the runs that hit their points.
func (r *Report) apply(of record) {
	switch {
	case of.Session != nil:
		r.Sessions = append(r.Sessions, *of.Session)
	case of.Reference != nil:
		r.points(of.Reference.Part, of.Reference.Scenario, of.Reference.Points)
	case of.Run != nil:
		r.played(of.Run)
	case of.Repeated != nil:
		r.repeated(of.Repeated)
	case of.Caught != nil:
		r.Bugs = append(r.Bugs, *of.Caught)
	}
	r.Again += of.Again
	if last := len(r.Sessions) - 1; last >= 0 && of.Session == nil && of.Reference == nil {
		r.Seconds += max(0, of.At-r.Sessions[last].Seconds)
		r.Sessions[last].Seconds = max(of.At, r.Sessions[last].Seconds)
	}
}

// points adds the points of a scenario, if faults are injected into its part. The points of several reference
// runs add up.
func (r *Report) points(part Part, scenario string, all []recipe.Point) {
	if part != Reference {
		return
	}
	for _, point := range all {
		if text := point.String(); !slices.Contains(r.Spared[scenario], text) {
			r.Spared[scenario] = append(r.Spared[scenario], text)
		}
	}
	r.Points[scenario] = len(r.Spared[scenario])
}

func (r *Report) line(of *played) *Line {
	for _, line := range r.Lines {
		if line.Part == of.Part && line.Scenario == of.Scenario {
			return line
		}
	}
	line := &Line{Part: of.Part, Scenario: of.Scenario}
	r.Lines = append(r.Lines, line)
	return line
}

func (r *Report) played(of *played) {
	line := r.line(of)
	line.Runs++
	line.Seconds += of.Seconds
	if !of.Reached {
		line.Unreached++
	}
	r.Isolation.add(of.Isolation)
	for _, point := range of.Hit {
		r.hit(of.Scenario, point)
	}
	if len(of.Problems) > 0 {
		line.Divergences++
		r.Divergences = append(r.Divergences, Divergence{
			Part: of.Part, Scenario: of.Scenario, Command: commandOf(of.Scenario, of.Recipe), Problems: of.Problems, of: of,
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

func (r *Report) repeated(of *repeated) {
	r.Isolation.add(of.Isolation)
	for i := range r.Divergences {
		if d := &r.Divergences[i]; d.Part == of.Part && d.Command == of.Command && !d.Repeated {
			d.Repeated, d.Again, d.Smallest = true, of.Again, of.Smallest
			return
		}
	}
}

// tried reports whether the report has a result for a seeded bug.
func (r *Report) tried(bug seeded.Bug) bool {
	return slices.ContainsFunc(r.Bugs, func(c Caught) bool { return c.Bug == string(bug) })
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
