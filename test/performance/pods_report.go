package performance

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/test/requests"
)

// Markdown returns the report for readers.
func (r PodsReport) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s, on %s.\n\n", r.Command, r.Date, r.Machine)
	for _, result := range r.Results {
		b.WriteString(result.compared())
	}
	b.WriteString(r.costs() + r.counted() + r.rows())
	return b.String()
}

// table returns a Markdown table. The columns with numbers come last.
func table(text, numbers []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n", strings.Join(append(append([]string{}, text...), numbers...), " | "))
	b.WriteString("|" + strings.Repeat("---|", len(text)) + strings.Repeat("---:|", len(numbers)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// about returns the first cells of a case's row.
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

// known formats a figure, or returns a dash if it is 0.
func known(format string, figure float64) string {
	if figure == 0 {
		return "–"
	}
	return fmt.Sprintf(format, figure)
}

// costs returns what the manager needed. Counts are the highest of several runs.
func (r PodsReport) costs() string {
	rows := r.each(func(result PodsResult) []string {
		most, n := result.Most(), float64(result.Case.N)
		return []string{
			fmt.Sprintf("%.3f", float64(most.PodWrites)/n), fmt.Sprintf("%.3f", float64(most.StatusChanges)/n),
			fmt.Sprint(most.OtherWrites), fmt.Sprint(most.Reads), fmt.Sprint(most.Failed), fmt.Sprint(most.Slow), fmt.Sprint(most.Events),
			fmt.Sprintf("%.1f", inMB(most.Heap)*1000/n), fmt.Sprintf("%.0f", inMB(most.Peak)*1000/n),
		}
	})
	return fmt.Sprintf("Requests of Spillway from creation until all are gone, memory when all are Ready; at most %d + U writes a pod, of which U is the changes of its status there:\n\n", writesBesidesStatus) +
		table(aboutPods, []string{"writes a pod", "U", "other writes", "reads", "refused", "slow watches", "events", "MB heap, 1,000 pods", "MB peak, 1,000 pods"}, rows)
}

// counted returns what the manager's own transports counted.
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

// unsaturated returns the reaction to one change at a time, with its goals.
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

// milliseconds formats the bound of the bucket, or the last bound if the value exceeds all.
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

// rows returns the requests by cluster, verb and resource, of the first case with the most pods.
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
