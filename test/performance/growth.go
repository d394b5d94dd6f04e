// Package performance measures what Spillway costs: make bench. Counts are exact and have bounds. Timings are
// reported together with the machine.
package performance

import "math"

// Point is a measurement at one size, such as the number of requests.
type Point struct{ N, Figure float64 }

// Growth describes how a figure grows with N.
type Growth struct {
	// Fixed and PerN describe the best-fitting line Fixed + PerN·N.
	Fixed, PerN float64
	// Residual is the largest distance of a point from that line, as a share of the point.
	Residual float64
	// Square is the share of the N² term of the best-fitting parabola, of the figure at the largest N. If it
	// is below zero, growth slows down.
	Square float64
}

// GrowthOf fits at least three points of different N.
func GrowthOf(points []Point) Growth {
	line, parabola := fit(points, 2), fit(points, 3)
	growth := Growth{Fixed: line[0], PerN: line[1]}
	largest := points[0]
	for _, p := range points {
		growth.Residual = max(growth.Residual, math.Abs(p.Figure-line[0]-line[1]*p.N)/p.Figure)
		if p.N > largest.N {
			largest = p
		}
	}
	growth.Square = parabola[2] * largest.N * largest.N / largest.Figure
	return growth
}

// fit returns the coefficients of the polynomial with so many terms that fits the points best. It solves the
// normal equations of least squares by elimination.
func fit(points []Point, terms int) []float64 {
	equations := make([][]float64, terms) // The last column is the right-hand side.
	for row := range equations {
		equations[row] = make([]float64, terms+1)
		for _, p := range points {
			for column := range terms {
				equations[row][column] += math.Pow(p.N, float64(row+column))
			}
			equations[row][terms] += p.Figure * math.Pow(p.N, float64(row))
		}
	}
	for pivot := range terms {
		for row := range terms {
			if row == pivot {
				continue
			}
			factor := equations[row][pivot] / equations[pivot][pivot]
			for column := pivot; column <= terms; column++ {
				equations[row][column] -= factor * equations[pivot][column]
			}
		}
	}
	coefficients := make([]float64, terms)
	for i := range coefficients {
		coefficients[i] = equations[i][terms] / equations[i][i]
	}
	return coefficients
}
