// Package faults crashes, disconnects and faults the manager at each of its writes. It compares the result of
// each run with a run without faults. docs/reliability.md describes the faults and the results.
//
// The packages below are its parts. recipe names faults. inject makes them happen in a manager's transports.
// proxy cuts connections. world has the clusters and plays Kubernetes in them. scenario has the actions of
// users. oracle judges. run plays all of it and reports.
package faults
