package performance

import (
	"fmt"
	"slices"
)

// boundedCase is the plainest case. Only its ratios to the floor have bounds. SHORT=1 runs only this case.
var boundedCase = PodsCase{N: 500, Providers: 1}

// comparison is a figure of Spillway and of the floor.
type comparison struct {
	what, format string
	more         bool // More of it is better.
	// bound is the ratio beyond which the benchmark fails, in the boundedCase; 0 means none.
	bound  float64
	figure func(run PodsRun, pods float64) float64
}

// comparisons have the bounds of ratios. Each was set a tenth beyond the measured ratio. If you improve a
// ratio, tighten its bound in the same commit.
var comparisons = []comparison{
	{"pods/s to Ready", "%.1f", true, 0.85, func(r PodsRun, pods float64) float64 { return pods / r.Create.Seconds }},
	{"seconds to Ready, p50", "%.2f", false, 0, func(r PodsRun, _ float64) float64 { return r.Create.P50 }},
	{"seconds to Ready, p99", "%.2f", false, 1.25, func(r PodsRun, _ float64) float64 { return r.Create.P99 }},
	{"seconds until all are deleted", "%.2f", false, 1.3, func(r PodsRun, _ float64) float64 { return r.Delete.Seconds }},
	{"CPU of the consumer's API server, ms a pod", "%.1f", false, 1.25, func(r PodsRun, pods float64) float64 { return 1000 * r.CPU.Consumer / pods }},
	{"CPU of the providers' API servers, ms a pod", "%.1f", false, 1.3, func(r PodsRun, pods float64) float64 { return 1000 * r.CPU.Providers / pods }},
	{"CPU of the manager or the floor, ms a pod", "%.2f", false, 2.25, func(r PodsRun, pods float64) float64 { return 1000 * r.CPU.Process / pods }},
	{"writes of pods, for each", "%.2f", false, 0, func(r PodsRun, pods float64) float64 { return float64(r.Cost.PodWrites) / pods }},
	{"of these, of the status", "%.2f", false, 0, func(r PodsRun, pods float64) float64 { return float64(r.Cost.StatusWrites) / pods }},
}

// ratio compares the rounds of Spillway and of the floor.
type ratio struct {
	comparison
	// ratio is the median of the rounds' ratios; 0 if there are none. spread is how much the floor's highest
	// figure exceeds its lowest, as a share.
	ratio, spread float64
}

func (c comparison) of(ours, floor []float64) ratio {
	r := ratio{comparison: c}
	var ratios []float64
	for i := range min(len(ours), len(floor)) {
		ratios = append(ratios, ours[i]/floor[i])
	}
	if len(ratios) > 0 {
		r.ratio, r.spread = median(ratios), slices.Max(floor)/slices.Min(floor)-1
	}
	return r
}

// The verdicts.
const (
	holds        = "holds"
	inconclusive = "inconclusive"
	broken       = "BROKEN"
)

// verdict compares the ratio with its bound. If it exceeds the bound by no more than the spread of the floor,
// the result is inconclusive.
func (r ratio) verdict() string {
	if r.bound == 0 || r.ratio == 0 {
		return ""
	}
	beyond := r.ratio / r.bound
	if r.more {
		beyond = r.bound / r.ratio
	}
	switch {
	case beyond <= 1:
		return holds
	case beyond <= 1+r.spread:
		return inconclusive
	default:
		return broken
	}
}

func (r ratio) limit() string {
	switch {
	case r.bound == 0:
		return ""
	case r.more:
		return fmt.Sprintf("≥ %.2f", r.bound)
	default:
		return fmt.Sprintf("≤ %.2f", r.bound)
	}
}

// compare returns a row for each comparison of the runs of a case, and the ratios that exceed their bounds.
func compare(c PodsCase, runs []PodsRun) (text string, errs []error) {
	rows := [][]string{{c.String(), "bound", "Spillway", "floor", "ratio", "floor against floor", "verdict", "in the provider"}}
	for _, is := range comparisons {
		if c != boundedCase {
			is.bound = 0
		}
		of := func(way Way) (all []float64) {
			for _, run := range runs {
				if run.Way == way {
					all = append(all, is.figure(run, float64(c.N)))
				}
			}
			return all
		}
		known := func(format string, figure float64) string {
			if figure == 0 {
				return "–"
			}
			return fmt.Sprintf(format, figure)
		}
		r := is.of(of(Ours), of(Floor))
		rows = append(rows, []string{
			r.what, r.limit(), known(r.format, median(of(Ours))), known(r.format, median(of(Floor))), known("%.2f", r.ratio),
			fmt.Sprintf("%.0f %%", 100*r.spread), r.verdict(), known(r.format, median(of(Direct))),
		})
		if r.verdict() == broken {
			errs = append(errs, fmt.Errorf("%s: %s, ratio to the floor: %.2f, want %s, and the floor differs by %.0f %%", c, r.what, r.ratio, r.limit(), 100*r.spread))
		}
	}
	return grid(rows), errs
}

// median returns the middle figure, or the mean of the two in the middle; 0 if there are none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	ascending := slices.Sorted(slices.Values(all))
	return (ascending[(len(all)-1)/2] + ascending[len(all)/2]) / 2
}
