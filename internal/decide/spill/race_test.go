//go:build race

package spill

// The race detector makes the interleavings much slower. make check and make test run all of them without it.
func init() { defaultInterleavings = 200 }
