package performance

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/test/requests"
)

// Markdown is what people read of the report.
func (r PodsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n", r.Command, r.Date, r.Machine)
	b.WriteString(r.goals() + r.speed() + "\n" + r.deletion() + "\n" + r.costs() + r.counted() + r.rows())
	return b.String()
}

// table is one of Markdown: the columns that are numbers come last.
func table(text, numbers []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n", strings.Join(append(append([]string{}, text...), numbers...), " | "))
	b.WriteString("|" + strings.Repeat("---|", len(text)) + strings.Repeat("---:|", len(numbers)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// about begins the row of a case.
func (c PodsCase) about() []string {
	return []string{fmt.Sprint(c.N), c.pods(), fmt.Sprint(c.Providers), c.binding()}
}

var aboutPods = []string{"N", "pods", "providers", "bound"}

func (r PodsReport) each(row func(PodsResult) []string) [][]string {
	var rows [][]string
	for _, result := range r.Results {
		rows = append(rows, append(result.Case.about(), row(result)...))
	}
	return rows
}

// speed is how fast pods become Ready.
func (r PodsReport) speed() string {
	return "From creation to Ready:\n\n" + r.rateTable(creating) + "\nOf single pods, in seconds:\n\n" + r.secondsTable(creating)
}

// deletion is how fast pods are gone.
func (r PodsReport) deletion() string {
	return "From deletion until all are gone, on both sides:\n\n" + r.rateTable(deleting) + "\nOf single pods, in seconds:\n\n" + r.secondsTable(deleting)
}

func (r PodsReport) rateTable(what func(PodsRun) Timing) string {
	return table(aboutPods, []string{"pods/s", "floor", "in the provider", "ratio to the floor", "ratio to the provider"},
		r.each(func(result PodsResult) []string { return result.rates(what) }))
}

func (r PodsReport) secondsTable(what func(PodsRun) Timing) string {
	return table(aboutPods, []string{"p50", "p90", "p99", "floor's p50", "p99", "provider's p50", "p99", "p99, ratio to the floor", "to the provider"},
		r.each(func(result PodsResult) []string {
			p50, p90, p99 := func(t Timing) float64 { return t.P50 }, func(t Timing) float64 { return t.P90 }, func(t Timing) float64 { return t.P99 }
			return []string{
				result.seconds(Ours, what, p50), result.seconds(Ours, what, p90), result.seconds(Ours, what, p99),
				result.seconds(Floor, what, p50), result.seconds(Floor, what, p99),
				result.seconds(Direct, what, p50), result.seconds(Direct, what, p99),
				result.times(Floor, what, p99), result.times(Direct, what, p99),
			}
		}))
}

// rates are those of all ways, and ours by the others.
func (r PodsResult) rates(what func(PodsRun) Timing) []string {
	return []string{
		known("%.1f", r.Rate(Ours, what)), known("%.1f", r.Rate(Floor, what)), known("%.1f", r.Rate(Direct, what)),
		known("%.2f", r.Ratio(Floor, what)), known("%.2f", r.Ratio(Direct, what)),
	}
}

// seconds is the mean of a figure of the creations, or deletions, of a way.
func (r PodsResult) seconds(way Way, what func(PodsRun) Timing, figure func(Timing) float64) string {
	return known("%.2f", r.Mean(way, func(run PodsRun) float64 { return figure(what(run)) }))
}

// times is our mean of a figure by that of another way.
func (r PodsResult) times(other Way, what func(PodsRun) Timing, figure func(Timing) float64) string {
	of := func(way Way) float64 { return r.Mean(way, func(run PodsRun) float64 { return figure(what(run)) }) }
	if of(other) == 0 {
		return known("", 0)
	}
	return known("%.2f", of(Ours)/of(other))
}

// known is a figure, or a dash for one that there is not.
func known(format string, figure float64) string {
	if figure == 0 {
		return "–"
	}
	return fmt.Sprintf(format, figure)
}

// costs are what the manager has needed. Where there are several runs, counts
// are of the one that needed most.
func (r PodsReport) costs() string {
	rows := r.each(func(result PodsResult) []string {
		most, n := result.Most(), float64(result.Case.N)
		return []string{
			fmt.Sprintf("%.3f", float64(most.PodWrites)/n), fmt.Sprintf("%.3f", float64(most.StatusChanges)/n),
			fmt.Sprint(most.OtherWrites), fmt.Sprint(most.Reads), fmt.Sprint(most.Failed), fmt.Sprint(most.Slow), fmt.Sprint(most.Events),
			fmt.Sprintf("%.1f", most.CPUSeconds*1000/n), fmt.Sprintf("%.1f", inMB(most.Heap)*1000/n), fmt.Sprintf("%.0f", inMB(most.Peak)*1000/n),
		}
	})
	return fmt.Sprintf("What it costs: requests and CPU from creation until all are gone, memory when all are Ready; at most %d + U writes a pod, of which U is the changes of its status there:\n\n", writesBesidesStatus) +
		table(aboutPods, []string{"writes a pod", "U", "other writes", "reads", "refused", "slow watches", "events", "CPU s, 1,000 pods", "MB heap, 1,000 pods", "MB peak, 1,000 pods"}, rows)
}

// counted is what the manager's own transports say.
func (r PodsReport) counted() string {
	if len(r.Counted) == 0 {
		return ""
	}
	var rows [][]string
	for _, c := range r.Counted {
		rows = append(rows, append(c.Case.about(), fmt.Sprint(c.NoOps), fmt.Sprint(len(c.Differences)),
			c.Saturated.P50.milliseconds(), c.Saturated.P99.milliseconds()))
	}
	return "\nCounted by the manager's transports:\n\n" +
		table(aboutPods, []string{"writes that change nothing", "differences to the audit logs", "change → written, p50 ≤, ms", "p99 ≤, ms"}, rows) +
		"\n" + r.unsaturated()
}

// unsaturated is the reaction to one change at a time, with its goals.
func (r PodsReport) unsaturated() string {
	if r.Unsaturated.Samples == 0 {
		return ""
	}
	goal := func(seconds, most float64) string {
		return fmt.Sprintf("%s ms (goal: ≤ %.0f ms, %s)", milliseconds(seconds), 1000*most, verdict(seconds <= most))
	}
	return fmt.Sprintf("One change at a time, %d of them, from its arrival to the sending of the write: p50 %s, p99 %s.\n",
		r.Unsaturated.Samples, goal(r.Unsaturated.P50, goalReactionP50), goal(r.Unsaturated.P99, goalReactionP99))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}

// milliseconds is the bound of the bucket, or what a value beyond all exceeds.
func (b Bucket) milliseconds() string {
	switch {
	case b.Bound == 0:
		return "–"
	case b.Beyond:
		return fmt.Sprintf("> %.0f", 1000*b.Bound)
	default:
		return milliseconds(b.Bound)
	}
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.1f", 1000*seconds) }

// rows are the requests by cluster, verb and resource, of the case with most
// pods of those that come first.
func (r PodsReport) rows() string {
	var last PodsResult
	for _, result := range r.Results {
		if result.Case.N > last.Case.N && len(result.Costs()) > 0 {
			last = result
		}
	}
	if last.Case.N == 0 {
		return ""
	}
	var rows [][]string
	for _, row := range last.Most().Rows {
		if requests.Finite(row.Key) {
			rows = append(rows, []string{row.Cluster, what(row.Key), fmt.Sprint(row.Requests), fmt.Sprintf("%.3f", float64(row.Requests)/float64(last.Case.N))})
		}
	}
	return fmt.Sprintf("\nBy cluster, verb and resource, in the case %s:\n\n", last.Case) + table([]string{"cluster", "request"}, []string{"times", "a pod"}, rows)
}
