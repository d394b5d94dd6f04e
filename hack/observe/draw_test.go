package observe

import (
	"context"
	"flag"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

var update = flag.Bool("update", false, "write the drawings to docs/images")

// The samples are of one hour, at this interval.
const (
	hour = time.Hour
	step = 30 * time.Second
	// The first minutes have too few samples for a rate.
	begin = 10 * time.Minute
)

// TestDraw: each panel shows something for the samples, and docs/images has the drawings of the dashboards.
func TestDraw(t *testing.T) {
	samples, err := os.ReadFile("testdata/samples.txt")
	if err != nil {
		t.Fatal(err)
	}
	storage := promqltest.LoadedStorage(t, string(samples))
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	all, err := dashboards()
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range all {
		job := "spillway"
		if name == "hosted" {
			job = "spillway-hosted"
		}
		var panels []drawn
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			of := drawn{panel: p}
			for _, target := range p.Targets {
				query, err := engine.NewRangeQuery(context.Background(), storage, nil, expand(target.Expr, job), time.Unix(0, 0).Add(begin), time.Unix(0, 0).Add(hour), step)
				if err != nil {
					t.Fatalf("%s: %s: %v", name, p.Title, err)
				}
				matrix, err := query.Exec(context.Background()).Matrix()
				if err != nil {
					t.Fatalf("%s: %s: %v", name, p.Title, err)
				}
				if len(matrix) == 0 {
					t.Errorf("%s: %s shows nothing", name, p.Title)
				}
				for _, series := range matrix {
					of.lines = append(of.lines, line{legend(target.Legend, series), series.Floats})
				}
			}
			panels = append(panels, of)
		}
		compare(t, "../../docs/images/dashboard-"+name+".svg", draw(d.Title, panels))
	}
}

func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("%s is not what the dashboard shows: go test -C hack/observe -run TestDraw . -update (%v)", file, err)
	}
}

var label = regexp.MustCompile(`{{ *([a-z_]+) *}}`)

func legend(format string, series promql.Series) string {
	return label.ReplaceAllStringFunc(format, func(match string) string {
		return series.Metric.Get(label.FindStringSubmatch(match)[1])
	})
}

type line struct {
	legend string
	points []promql.FPoint
}

type drawn struct {
	panel
	lines []line
}

// The size of a panel, and of its parts.
const (
	across                    = 3
	panelWidth, panelHeight   = 320, 210
	plotTop, plotLeft         = 38, 48
	plotWidth, plotHeight     = 256, 96
	legendTop, legendHeight   = 158, 15
	mostLegends, legendLength = 3, 44
)

var colours = []string{"#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"}

// draw returns a picture of a dashboard.
func draw(title string, panels []drawn) string {
	var b strings.Builder
	width, height := across*panelWidth, (len(panels)+across-1)/across*panelHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-labelledby="title" font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#1e293b">`+"\n", width, height)
	fmt.Fprintf(&b, "<title id=\"title\">Dashboard %s, over sample data</title>\n<rect width=\"%d\" height=\"%d\" fill=\"#f8fafc\"/>\n", html.EscapeString(title), width, height)
	for i, p := range panels {
		fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\">\n", i%across*panelWidth, i/across*panelHeight)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	return b.String() + "</svg>\n"
}

func (p drawn) draw(b *strings.Builder) {
	fmt.Fprintf(b, `<rect x="4" y="4" width="%d" height="%d" rx="4" fill="#fff" stroke="#cbd5e1"/>`+"\n", panelWidth-8, panelHeight-8)
	fmt.Fprintf(b, `<text x="12" y="22" font-weight="bold">%s</text>`+"\n", html.EscapeString(shortened(p.Title, 50)))
	if p.Type == "stat" {
		points := p.lines[0].points
		fmt.Fprintf(b, `<text x="%d" y="110" font-size="44" text-anchor="middle" fill="%s">%s</text>`+"\n", panelWidth/2, colours[0], amount(points[len(points)-1].F, p.FieldConfig.Defaults.Unit))
		return
	}
	most := p.most()
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#94a3b8"/>`+"\n", plotLeft, plotTop, plotTop+plotHeight, plotLeft+plotWidth)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">0</text>`+"\n", plotLeft-4, plotTop+plotHeight)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", plotLeft-4, plotTop+8, amount(most, p.FieldConfig.Defaults.Unit))
	for i, l := range p.lines {
		colour := colours[i%len(colours)]
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>`+"\n", colour, l.path(most))
		switch {
		case i < mostLegends:
			y := legendTop + i*legendHeight
			fmt.Fprintf(b, `<rect x="12" y="%d" width="10" height="3" fill="%s"/><text x="27" y="%d">%s</text>`+"\n", y-4, colour, y, html.EscapeString(shortened(l.legend, legendLength)))
		case i == mostLegends:
			fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">and %d more</text>`+"\n", panelWidth-12, legendTop+(mostLegends-1)*legendHeight, len(p.lines)-mostLegends)
		}
	}
}

// most returns the top of the scale.
func (p drawn) most() float64 {
	most := 0.0
	for _, l := range p.lines {
		for _, point := range l.points {
			most = max(most, point.F)
		}
	}
	if most == 0 {
		return 1
	}
	return most
}

func (l line) path(most float64) string {
	var points []string
	for _, point := range l.points {
		x := float64(point.T-begin.Milliseconds()) / float64((hour - begin).Milliseconds())
		points = append(points, fmt.Sprintf("%.0f,%.1f", plotLeft+x*plotWidth, plotTop+(1-point.F/most)*plotHeight))
	}
	return strings.Join(points, " ")
}

func shortened(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return text[:length-1] + "…"
}

// amount writes a value with its unit.
func amount(value float64, unit string) string {
	switch unit {
	case "percentunit":
		return fmt.Sprintf("%.0f %%", 100*value)
	case "bytes", "Bps":
		if value >= 1<<20 {
			return fmt.Sprintf("%.0f Mi", value/(1<<20))
		}
		return fmt.Sprintf("%.3g", value)
	case "s":
		return fmt.Sprintf("%.2g s", value)
	}
	return fmt.Sprintf("%.3g", value)
}
