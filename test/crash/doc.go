// Package crash kills the manager, a process of its own, in the middle of its
// work, again and again, and looks at what comes out in the end: the same as if
// nothing had happened.
//
// The clusters are real, the manager is the program that is shipped, under the
// roles that are shipped. When to kill is seen from watches of the test's own,
// which also record what happens to every namespace of the providers on the
// way: none is made twice, and none is touched that is not Spillway's. Of pods,
// which a scheduler and kwok run in the providers, and of what they use, they
// record how many have stood for each local one, ever and at a time.
package crash
