// Package crash runs the shipped manager as its own process, under the shipped roles. One test kills it with
// SIGKILL in the middle of a roll-out of pods, and in the middle of their deletion. Package faults proves each
// single crash, in the test's process; this test proves that a real death of a process is no different. The
// other test runs two managers at once.
package crash
