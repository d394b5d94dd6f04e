package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Markdown returns the tables for readers.
func (r *Report) Markdown() string {
	var b strings.Builder
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(&b, "`%s`, %s, on %s, %d runs at a time, %s.\n\n", r.Command, r.Date, r.Machine, r.Lanes, took)
	fmt.Fprintf(&b, "**%s.**\n\n", r.Summary())
	b.WriteString(r.spared())
	if r.Again > 0 {
		fmt.Fprintf(&b, "%d runs were played once more, because of the harness itself, or of an API server that did not answer it.\n\n", r.Again)
	}
	if r.Isolation.Runs > 0 {
		fmt.Fprintf(&b, "In %d runs one provider was cut off while the other one had work. All of that was done during the cut, within %.2f s at most; without a cut it is %.2f s.\n\n",
			r.Isolation.Runs, r.Isolation.Slowest, r.Isolation.Undisturbed)
	}
	fmt.Fprintf(&b, "Divergences, of the runs that came to their fault:\n\n%s", r.Table())
	if len(r.Bugs) > 0 {
		fmt.Fprint(&b, "\n| seeded bug | what it does | runs | caught by |\n|---|---|---:|---|\n")
		for _, bug := range r.Bugs {
			caught := "**nothing**"
			if len(bug.By) > 0 {
				part, command, _ := strings.Cut(bug.By[0], ": ")
				caught = fmt.Sprintf("%s: `%s`", part, command)
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", bug.Bug, bug.Breaks, bug.Runs, caught)
		}
	}
	return b.String()
}

// sparedMost is how many points without a fault are listed. Only a part of the recipes would leave out more.
const sparedMost = 10

// spared lists the points at which no fault happened.
func (r *Report) spared() string {
	var all []string
	for _, scenario := range slices.Sorted(maps.Keys(r.Spared)) {
		for _, point := range r.Spared[scenario] {
			all = append(all, fmt.Sprintf("`%s` (%s)", point, scenario))
		}
	}
	if len(all) == 0 || len(all) > sparedMost {
		return ""
	}
	return fmt.Sprintf("Nothing went wrong at %s.\n\n", strings.Join(all, ", "))
}
