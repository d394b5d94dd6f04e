package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spillway-io/spillway/test/order"
)

// A tierLook is how a tier appears in the pictures.
type tierLook struct{ name, fill string }

var tierLooks = []tierLook{{"local nodes", "#94a3b8"}, {"provider eu", "#34d399"}, {"provider us", "#60a5fa"}}

// longest is how much is drawn of a time in which nothing happens, and tail what is drawn after the last event.
const (
	longest = 4 * time.Second
	tail    = 2 * time.Second
)

// A timeline has the moments of a story, and where they are drawn: long waits are shortened.
type timeline struct{ moments, drawn []time.Duration }

func timelineOf(events []order.Event) timeline {
	var t timeline
	var before, at time.Duration
	for _, e := range events {
		at += min(e.At-before, longest)
		before = e.At
		t.moments, t.drawn = append(t.moments, e.At), append(t.drawn, at)
	}
	return t
}

func (t timeline) of(moment time.Duration) time.Duration {
	i, _ := slices.BinarySearch(t.moments, moment)
	return t.drawn[min(i, len(t.drawn)-1)]
}

func (t timeline) length() time.Duration { return t.drawn[len(t.drawn)-1] + tail }

// The plot in the picture, in pixels.
const (
	left, right, top, bottom = 52.0, 840.0, 76.0, 286.0
	textColor, lineColor     = "#475569", "#cbd5e1"
)

// A plot places moments and numbers of pods in the picture.
type plot struct {
	timeline
	most int // The highest number of pods.
}

func (p plot) x(moment time.Duration) float64 {
	return left + (right-left)*float64(p.of(moment))/float64(p.length())
}

func (p plot) y(pods int) float64 { return bottom - (bottom-top)*float64(pods)/float64(p.most) }

// steps returns the points of a line that changes with the samples.
func (p plot) steps(samples []order.Sample, pods func(order.Sample) int) []string {
	var points []string
	was := 0
	for _, sample := range samples {
		if x, is := p.x(sample.At), pods(sample); is != was {
			points = append(points, fmt.Sprintf("%.1f,%.1f %.1f,%.1f", x, p.y(was), x, p.y(is)))
			was = is
		}
	}
	return append(points, fmt.Sprintf("%.1f,%.1f", right, p.y(was)))
}

// stacked returns how many pods are in the first tiers together.
func stacked(tiers int) func(order.Sample) int {
	return func(s order.Sample) int {
		sum := 0
		for _, n := range s.In[:tiers] {
			sum += n
		}
		return sum
	}
}

// picture draws the pods of each tier over time, as SVG.
func picture(events []order.Event) string {
	samples := order.Samples(events, len(tierLooks))
	p := plot{timeline: timelineOf(events), most: 1}
	for _, sample := range samples {
		p.most = max(p.most, sample.Asked, stacked(len(tierLooks))(sample))
	}
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="860" height="360" viewBox="0 0 860 360" role="img" aria-labelledby="title desc" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="` + textColor + `">
  <title id="title">Pods in each tier over time</title>
  <desc id="desc">As the load rises, the local nodes fill up, then provider eu, then provider us. As it falls, us empties first. Once the local nodes have room again, pods return to them.</desc>
  <rect x="0.5" y="0.5" width="859" height="359" rx="10" fill="#f8fafc" stroke="` + lineColor + `"/>
  <text x="20" y="28" font-size="15" font-weight="bold" fill="#1e293b">Where the pods of the namespace run</text>
`)
	p.drawLegend(&b)
	p.drawGrid(&b)
	for tier, look := range tierLooks {
		upper, lower := p.steps(samples, stacked(tier+1)), p.steps(samples, stacked(tier))
		fmt.Fprintf(&b, "  <polygon fill=%q points=\"%s %s\"/>\n", look.fill, strings.Join(upper, " "), reversed(lower))
	}
	asked := p.steps(samples, func(s order.Sample) int { return s.Asked })
	fmt.Fprintf(&b, "  <polyline fill=\"none\" stroke=\"#1e293b\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\" points=\"%s\"/>\n", strings.Join(asked, " "))
	p.drawTimes(&b, events)
	b.WriteString("</svg>\n")
	return b.String()
}

// reversed returns points from the last to the first.
func reversed(points []string) string {
	all := strings.Fields(strings.Join(points, " "))
	slices.Reverse(all)
	return strings.Join(all, " ")
}

func (p plot) drawLegend(b *strings.Builder) {
	x := left
	for _, look := range tierLooks {
		fmt.Fprintf(b, "  <rect x=\"%.0f\" y=\"44\" width=\"12\" height=\"12\" fill=%q/><text x=\"%.0f\" y=\"54\">%s</text>\n", x, look.fill, x+18, look.name)
		x += 110
	}
	fmt.Fprintf(b, "  <path d=\"M%.0f 50 h24\" stroke=\"#1e293b\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"/><text x=\"%.0f\" y=\"54\">pods that the team asks for</text>\n", x, x+30)
}

func (p plot) drawGrid(b *strings.Builder) {
	for pods := 0; pods <= p.most; pods += max(1, (p.most/4+4)/5*5) {
		fmt.Fprintf(b, "  <path d=\"M%.0f %.1f H%.0f\" stroke=%q/><text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
			left, p.y(pods), right, lineColor, left-8, p.y(pods)+4, pods)
	}
}

// drawTimes says what was asked for and when, in two rows, and how long the waits are that are shortened.
func (p plot) drawTimes(b *strings.Builder, events []order.Event) {
	var before time.Duration
	row := 0
	for _, e := range events {
		if wait := e.At - before; wait > longest {
			x := p.x(e.At) - (right-left)*float64(longest)/float64(p.length())/2
			fmt.Fprintf(b, "  <text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\" font-size=\"11\">· · · %.0f s · · ·</text>\n", x, top-6, wait.Seconds())
		}
		if before = e.At; e.Kind != order.Asked {
			continue
		}
		x, y := p.x(e.At), bottom+18+float64(row%2)*30
		fmt.Fprintf(b, "  <path d=\"M%.1f %.0f V%.0f\" stroke=\"#64748b\" stroke-dasharray=\"2 3\"/>\n", x, top, y-12)
		fmt.Fprintf(b, "  <text x=\"%.1f\" y=\"%.0f\" font-weight=\"bold\">%s</text><text x=\"%.1f\" y=\"%.0f\" font-size=\"11\">after %.0f s</text>\n", x, y, e.Note, x, y+13, e.At.Seconds())
		row++
	}
}

// width is how many columns the bars in the terminal have.
const width = 64

var blocks = []rune(" ▁▂▃▄▅▆▇█")

// bars draws the same for a terminal: a row of bars for each tier, the last one first, and what was asked for.
func bars(events []order.Event) string {
	samples, line := order.Samples(events, len(tierLooks)), timelineOf(events)
	column := func(moment time.Duration) int {
		return int(int64(width) * int64(line.of(moment)) / int64(line.length()))
	}
	var b strings.Builder
	for tier := len(tierLooks) - 1; tier >= 0; tier-- {
		most, in := 0, make([]int, width)
		for _, sample := range samples {
			n := sample.In[tier]
			most = max(most, n)
			for i := column(sample.At); i < width; i++ {
				in[i] = n
			}
		}
		row := make([]rune, width)
		for i, n := range in {
			row[i] = blocks[(n*(len(blocks)-1)+max(1, most)-1)/max(1, most)]
		}
		fmt.Fprintf(&b, "%12s |%s| at most %d\n", tierLooks[tier].name, string(row), most)
	}
	asked := []rune(strings.Repeat(" ", width))
	for _, e := range events {
		if e.Kind == order.Asked {
			copy(asked[column(e.At):], []rune(fmt.Sprint(e.N)))
		}
	}
	fmt.Fprintf(&b, "%12s |%s|\n", "asked for", string(asked))
	return b.String()
}
