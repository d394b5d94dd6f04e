// Package faults crashes, cuts and faults the manager at each of its writes, and
// compares what becomes of it with a run in which nothing went wrong. What is
// done, and what came of it, is in docs/reliability.md.
//
// The packages below are its parts: recipe names faults, inject makes them
// happen in a manager's transports, proxy cuts connections, world has the
// clusters and plays what Kubernetes does in them, scenario says what users do,
// oracle judges, and run plays everything and reports.
package faults
