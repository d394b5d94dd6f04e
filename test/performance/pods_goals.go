package performance

import "fmt"

// goals holds the plainest case, at the N nearest to the one that they are for,
// against the goals for what is timed. They fail nothing: the machine decides too.
func (r PodsReport) goals() string {
	result, ok := r.nearestToGoal()
	if !ok {
		return ""
	}
	var rows [][]string
	row := func(what, goal, format string, figure float64, met bool) {
		verdict := verdict(met)
		if figure == 0 {
			verdict = "not measured"
		}
		rows = append(rows, []string{what, goal, known(format, figure), verdict})
	}
	ratio, rate := result.Ratio(Floor, creating), result.Rate(Ours, creating)
	p99 := result.Mean(Ours, func(run PodsRun) float64 { return run.Create.P99 })
	deletion := result.Mean(Ours, func(run PodsRun) float64 { return run.Delete.Seconds })
	heap := inMB(result.Most().Heap) * 1000 / float64(result.Case.N)
	row("pods/s to Ready, ratio to the floor", fmt.Sprintf("≥ %.2f", goalRatio), "%.2f", ratio, ratio >= goalRatio)
	row("pods/s to Ready, three times Liqo's", fmt.Sprintf("≥ %.0f", goalRate), "%.1f", rate, rate >= goalRate)
	row("p99 to Ready, s, a quarter of Liqo's", fmt.Sprintf("≤ %.1f", goalP99), "%.2f", p99, p99 <= goalP99)
	row("deletion of all, s, a quarter of Liqo's", fmt.Sprintf("≤ %.2f", goalDeletion), "%.2f", deletion, deletion <= goalDeletion)
	row("heap, MB, 1,000 pods", fmt.Sprintf("≤ %.0f", goalHeap), "%.1f", heap, heap <= goalHeap)
	caption := fmt.Sprintf("The goals for what is timed, in the case %s; none of them fails the benchmark:", result.Case)
	if result.Case.N != goalPods {
		caption = fmt.Sprintf("The goals for what is timed, in the case %s. Those in seconds are for %d pods, and say little here; none of them fails the benchmark:", result.Case, goalPods)
	}
	return caption + "\n\n" + table([]string{"what", "goal"}, []string{"here", "verdict"}, rows) + "\n"
}

// nearestToGoal is that result, if there is any.
func (r PodsReport) nearestToGoal() (PodsResult, bool) {
	var nearest PodsResult
	found := false
	for _, result := range r.Results {
		if result.Case.differences() == 0 && len(result.Costs()) > 0 && (!found || distance(result) < distance(nearest)) {
			nearest, found = result, true
		}
	}
	return nearest, found
}

func distance(r PodsResult) int { return max(r.Case.N-goalPods, goalPods-r.Case.N) }
