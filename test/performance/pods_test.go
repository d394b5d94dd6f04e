//go:build bench

package performance

import (
	"io"
	"os"
	"testing"
)

// progress is where the benchmark says what it does.
var progress io.Writer = os.Stdout

// TestPods measures roll-outs of pods, and their deletion: by Spillway, by the
// floor, which is the least that it takes, and in the providers themselves.
// PODS=100,500 and CASES=plain/1/direct choose others than the default.
func TestPods(t *testing.T) {
	cases, err := podsCases(os.Getenv("PODS"), os.Getenv("CASES"))
	must(t, err)
	var b *podsRig
	for _, c := range cases {
		if b == nil {
			b = startPods(t, providers[:c.Providers])
		}
		for _, way := range []Way{Floor, Ours, Direct, Ours, Floor} {
			b.roll(t, c, way)
		}
	}
}
