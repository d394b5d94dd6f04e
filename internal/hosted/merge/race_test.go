//go:build race

package merge

// The race detector makes them twenty times slower; make check and make test run all of
// them without it.
func init() { defaultInterleavings = 500 }
