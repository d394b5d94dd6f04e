// Package seeded holds bugs that the product never has: the fault harness (test/faults) is
// built to switch one of them on, and has to catch it, or its zeroes mean nothing.
//
// The product does not know of them. Each has a site: a few lines of one file, and what
// stands in their place with the bug. Overlay writes these files for go build -overlay; the
// harness is built of them, with the tag seeded, and asks On for the bug that is switched on.
package seeded
