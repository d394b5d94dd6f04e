// Command plot draws the figures of bin/bench/pods.json: how the latency of pods
// and the writes for each grow with their number.
//
//	go run . pods.json DIRECTORY
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// report is what is read of the benchmark's.
type report struct {
	Results []result
}

type result struct {
	Case struct {
		N, Providers      int
		Shared, Scheduled bool
	}
	Runs []run
}

type run struct {
	Way    string
	Create struct{ P50, P90, P99 float64 }
	Cost   *struct{ PodWrites, StatusChanges int }
}

func main() {
	const arguments = 3
	if len(os.Args) != arguments {
		fmt.Fprintln(os.Stderr, "usage: plot pods.json DIRECTORY")
		os.Exit(2)
	}
	if err := draw(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func draw(file, directory string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var all report
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	plain := plainest(all.Results)
	if len(plain) == 0 {
		return fmt.Errorf("%s has no case of plain pods, in one provider, bound directly", file)
	}
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return err
	}
	if err := latency(plain).save(directory, "pods-latency.svg"); err != nil {
		return err
	}
	return writes(plain).save(directory, "pods-writes.svg")
}

// plainest are the results that differ in nothing but N, in its order.
func plainest(results []result) []result {
	results = slices.DeleteFunc(results, func(r result) bool {
		return r.Case.Providers != 1 || r.Case.Shared || r.Case.Scheduled
	})
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.Case.N, b.Case.N) })
	return results
}

// picture is some lines over N.
type picture struct {
	title, unit string
	lines       []any // As plotutil has them: name, points, name, points …
}

func (p *picture) line(name string, points plotter.XYs) { p.lines = append(p.lines, name, points) }

// points are those of a figure, the mean of the runs of a way at each N.
func points(results []result, way string, figure func(result, run) float64) plotter.XYs {
	var all plotter.XYs
	for _, r := range results {
		total, n := 0.0, 0
		for _, run := range r.Runs {
			if run.Way == way {
				total += figure(r, run)
				n++
			}
		}
		if n > 0 {
			all = append(all, plotter.XY{X: float64(r.Case.N), Y: total / float64(n)})
		}
	}
	return all
}

func latency(results []result) *picture {
	p := &picture{title: "From creation to Ready, N pods at once", unit: "seconds"}
	of := func(way string, figure func(run) float64) plotter.XYs {
		return points(results, way, func(_ result, r run) float64 { return figure(r) })
	}
	p.line("p50", of("spillway", func(r run) float64 { return r.Create.P50 }))
	p.line("p90", of("spillway", func(r run) float64 { return r.Create.P90 }))
	p.line("p99", of("spillway", func(r run) float64 { return r.Create.P99 }))
	p.line("p99 of the floor", of("floor", func(r run) float64 { return r.Create.P99 }))
	p.line("p99 in the provider", of("provider", func(r run) float64 { return r.Create.P99 }))
	return p
}

func writes(results []result) *picture {
	p := &picture{title: "API writes for each pod, both clusters, creation to deletion", unit: "writes"}
	of := func(figure func(run) int) plotter.XYs {
		return points(results, "spillway", func(r result, one run) float64 { return float64(figure(one)) / float64(r.Case.N) })
	}
	const besidesStatus = 3
	p.line("writes", of(func(r run) int { return r.Cost.PodWrites }))
	bound := of(func(r run) int { return r.Cost.StatusChanges })
	for i := range bound {
		bound[i].Y += besidesStatus
	}
	p.line("bound: 3 + U", bound)
	return p
}

func (p *picture) save(directory, name string) error {
	const width, height = 7 * vg.Inch, 3.5 * vg.Inch
	drawing := plot.New()
	drawing.BackgroundColor = color.White // On a dark page too.
	drawing.Title.Text, drawing.X.Label.Text, drawing.Y.Label.Text = p.title, "N", p.unit
	drawing.Legend.Top, drawing.Legend.Left = true, true
	drawing.Add(plotter.NewGrid())
	if err := plotutil.AddLinePoints(drawing, p.lines...); err != nil {
		return fmt.Errorf("drawing %s: %w", name, err)
	}
	drawing.X.Min, drawing.Y.Min = 0, 0
	drawing.Y.Max *= 1.3 // Room for the legend.
	if err := drawing.Save(width, height, filepath.Join(directory, name)); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
