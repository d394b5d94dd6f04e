// Package measure tells what a manager costs that runs as a process of its own:
// CPU, memory, connections, and what it asks of API servers.
//
// # Usage
//
//	manager, err := measure.Start(ctx, measure.Options{Kubeconfig: kubeconfig, ConsumerID: "bench", Log: file})
//	defer manager.Stop()
//	usage, err := manager.Usage()       // CPU seconds, RSS and its peak
//	heap, err := manager.HeapAfterGC(ctx)
//	conns, err := manager.Connections() // by the port of the API server
//
//	rig.Options{AuditPolicy: measure.AuditPolicy(measure.ManagerAccounts()...)}
//	audit := measure.NewAudit(provider.ID, provider.AuditLog())
//	before, err := audit.Figures()
//	...
//	after, err := audit.Figures()
//	after.Since(before).Sum(requests.Writes)
//	watches, err := audit.OpenWatches()
//
// # Trade-offs
//
// A process of its own has nothing of the benchmark in its figures, as one in
// the process of the test has. What cannot be seen from outside is which writes
// changed nothing, and which requests never reached an API server: for those
// there is package requests.
//
// The audit log is what the API server saw, so each attempt counts once. Only
// requests of Spillway's own user agent count. One of its accounts by another
// user agent is an error, because the counts would not be all there is.
package measure
