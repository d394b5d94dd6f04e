package performance

import (
	"math"
	"testing"
)

func TestGrowthOf(t *testing.T) {
	at := func(f func(n float64) float64) []Point {
		var points []Point
		for _, n := range []float64{250, 500, 1000} {
			points = append(points, Point{n, f(n)})
		}
		return points
	}
	for what, test := range map[string]struct {
		points []Point
		want   Growth
	}{
		"a line":             {at(func(n float64) float64 { return 30 + 5*n }), Growth{Fixed: 30, PerN: 5}},
		"nothing but a line": {at(func(n float64) float64 { return 5 * n }), Growth{PerN: 5}},
		// Worked out by hand: slope 2/3·10⁶ by 291667, and 53.6 of 312.5 off at 250.
		"half of it quadratic": {at(func(n float64) float64 { return n + n*n/1000 }), Growth{Fixed: -312.5, PerN: 2.2857, Residual: 0.1714, Square: 0.5}},
	} {
		t.Run(what, func(t *testing.T) {
			got := GrowthOf(test.points)
			for name, pair := range map[string][2]float64{
				"fixed": {got.Fixed, test.want.Fixed}, "per N": {got.PerN, test.want.PerN},
				"residual": {got.Residual, test.want.Residual}, "square": {got.Square, test.want.Square},
			} {
				if math.Abs(pair[0]-pair[1]) > 0.01*max(1, math.Abs(pair[1])) {
					t.Errorf("%s: got %.4f, want %.4f", name, pair[0], pair[1])
				}
			}
		})
	}
}
