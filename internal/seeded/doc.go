// Package seeded holds bugs that the product never has: the fault harness
// (test/faults) is built with the tag "seeded" to switch one of them on, and has
// to catch it, or its zeroes mean nothing.
//
// Without that tag On is a constant false, and the compiler removes each site:
// no flag, variable or environment can switch a bug on in what is shipped.
package seeded
