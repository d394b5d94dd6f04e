// Package seeded has bugs that the product never has. The fault harness (test/faults) switches on one after
// the other and has to catch it. Otherwise its zeroes mean nothing.
//
// The product does not know of the bugs. Each has a site: a few lines of one file, and the lines that replace
// them. Overlay writes these files for go build -overlay. The harness is built from them with the tag seeded,
// and calls On to ask whether a bug is switched on.
package seeded
