//go:build race

package merge

// The race detector makes the interleavings twenty times slower. make check and make test run all of them
// without it.
func init() { defaultInterleavings = 500 }
