// Package measure measures what a manager in its own process costs: CPU, memory, connections, and its
// requests to API servers.
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
// A separate process keeps the benchmark out of the manager's figures. From outside it cannot be seen which
// writes changed nothing, and which requests never reached an API server. Use package requests for those.
//
// The audit log shows what the API server saw, so each attempt counts once. Only requests with Spillway's own
// user agent count. A request of its accounts with another user agent is an error, because the counts would
// be incomplete.
package measure
