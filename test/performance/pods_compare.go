package performance

import (
	"fmt"
	"slices"
)

// comparison is a figure of Spillway and of the floor.
type comparison struct {
	what, format string
	more         bool // More of it is better.
	// bound is the ratio beyond which the benchmark fails, and goal the ratio to reach. Both are for
	// boundedCase; 0 means none.
	bound, goal float64
	figure      func(run PodsRun, pods float64) float64
}

// Compared is the result of a comparison in one case.
type Compared struct {
	comparison
	// Ours, Floor and Direct are medians; 0 if there was no such run.
	Ours, Floor, Direct float64
	// Ratio is the median of the rounds' ratios. Spread is how much the floor's highest figure exceeds its
	// lowest, as a share.
	Ratio, Spread float64
}

// Compare compares the rounds of a case, if it has any of Spillway and the floor.
func (r PodsResult) Compare() []Compared {
	var all []Compared
	for _, c := range comparisons {
		if r.Case != boundedCase {
			c.bound, c.goal = 0, 0
		}
		of := func(way Way) []float64 {
			return r.Of(way, func(run PodsRun) float64 { return c.figure(run, float64(r.Case.N)) })
		}
		ours, floor, direct := of(Ours), of(Floor), of(Direct)
		compared := Compared{comparison: c, Ours: medianOf(ours), Floor: medianOf(floor), Direct: medianOf(direct)}
		var ratios []float64
		for i := range min(len(ours), len(floor)) {
			ratios = append(ratios, ours[i]/floor[i])
		}
		if len(ratios) > 0 {
			compared.Ratio, compared.Spread = median(ratios), slices.Max(floor)/slices.Min(floor)-1
		}
		all = append(all, compared)
	}
	return all
}

// medianOf returns the median; 0 if all is empty.
func medianOf(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	return median(all)
}

// The verdicts.
const (
	holds        = "holds"
	inconclusive = "inconclusive"
	broken       = "BROKEN"
)

// Verdict compares the ratio with its bound. If it exceeds the bound by no more than the spread of the floor,
// the result is inconclusive.
func (c Compared) Verdict() string {
	if c.bound == 0 || c.Ratio == 0 {
		return ""
	}
	beyond := c.Ratio / c.bound
	if c.more {
		beyond = c.bound / c.Ratio
	}
	switch {
	case beyond <= 1:
		return holds
	case beyond <= 1+c.Spread:
		return inconclusive
	default:
		return broken
	}
}

// BrokenRatios returns the ratios that exceed their bounds.
func (r PodsResult) BrokenRatios() []error {
	var errs []error
	for _, c := range r.Compare() {
		if c.Verdict() == broken {
			errs = append(errs, fmt.Errorf("%s: %s, ratio to the floor: %.2f, want %s, and the floor differs by %.0f %%", r.Case, c.what, c.Ratio, c.limit(c.bound), 100*c.Spread))
		}
	}
	return errs
}

func (c comparison) limit(of float64) string {
	switch {
	case of == 0:
		return ""
	case c.more:
		return fmt.Sprintf("≥ %.2f", of)
	default:
		return fmt.Sprintf("≤ %.2f", of)
	}
}

// compared returns the table of a case.
func (r PodsResult) compared() string {
	var rows [][]string
	for _, c := range r.Compare() {
		spread := "–"
		if c.Ratio != 0 {
			spread = fmt.Sprintf("%.0f %%", 100*c.Spread)
		}
		rows = append(rows, []string{
			c.what, c.limit(c.goal), c.limit(c.bound), known(c.format, c.Ours), known(c.format, c.Floor), known("%.2f", c.Ratio), spread, c.Verdict(), known(c.format, c.Direct),
		})
	}
	return fmt.Sprintf("%s:\n\n", r.Case) + table([]string{"what", "goal", "bound"},
		[]string{"Spillway", "floor", "ratio", "floor against floor", "verdict", "in the provider"}, rows) + "\n"
}
