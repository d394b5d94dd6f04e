// Package performance measures what Spillway costs: make bench. Counts are exact and have bounds. Timings
// depend on the machine; only their ratios to the floor have bounds.
package performance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// figure is a measurement, and the least and the most that it may be.
type figure struct {
	what, format string
	value        float64
	least, most  float64
}

// measured is a figure without a bound.
func measured(what, format string, value float64) figure {
	return figure{what, format, value, math.Inf(-1), math.Inf(1)}
}

// count is a number without a bound.
func count(what string, n int) figure { return measured(what, "%.0f", float64(n)) }

func (f figure) atMost(most float64) figure { return f.between(f.least, most) }

func (f figure) atLeast(least float64) figure { return f.between(least, f.most) }

func (f figure) exactly(want int) figure { return f.between(float64(want), float64(want)) }

func (f figure) between(least, most float64) figure {
	f.least, f.most = least, most
	return f
}

// broken reports whether the bound is broken.
func (f figure) broken() bool { return f.value < f.least || f.value > f.most }

// String returns the value and its bound.
func (f figure) String() string {
	of := func(value float64) string { return fmt.Sprintf(f.format, value) }
	text := of(f.value)
	switch {
	case f.least == f.most:
		text += " (= " + of(f.most) + ")"
	case !math.IsInf(f.least, 0) && !math.IsInf(f.most, 0):
		text += " (" + of(f.least) + " to " + of(f.most) + ")"
	case !math.IsInf(f.most, 0):
		text += " (≤ " + of(f.most) + ")"
	case !math.IsInf(f.least, 0):
		text += " (≥ " + of(f.least) + ")"
	}
	if f.broken() {
		text += " BROKEN"
	}
	return text
}

// column has the figures of one size or one run.
type column struct {
	name    string
	figures []figure
}

// table returns a row for each figure, and the broken bounds.
func table(title string, columns ...column) (text string, broken []error) {
	head := []string{title}
	var names []string
	cells := map[string][]string{}
	for i, c := range columns {
		head = append(head, c.name)
		for _, f := range c.figures {
			if !slices.Contains(names, f.what) {
				names = append(names, f.what)
				cells[f.what] = make([]string, len(columns))
			}
			cells[f.what][i] = f.String()
			if f.broken() {
				broken = append(broken, fmt.Errorf("%s, %s: %s: %s", title, c.name, f.what, f))
			}
		}
	}
	rows := [][]string{head}
	for _, name := range names {
		rows = append(rows, append([]string{name}, cells[name]...))
	}
	return grid(rows), broken
}

// grid aligns the cells of rows.
func grid(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // A Builder does not fail.
	return b.String()
}

func inMB(bytes int64) float64 { return float64(bytes) / 1e6 }
