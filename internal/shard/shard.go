// Package shard makes replicas of the manager share the ClusterBindings.
//
// # Usage
//
// A Registry knows which replicas live. A Coordinator uses it, the bindings and their holders to determine
// the bindings that this replica works for. Owns reports them, and Subscribe reports every change. The
// multicluster manager gets this Coordinator instead of its own.
//
// # Implementation
//
// Each replica renews its own Lease in the manager's namespace. All replicas read these Leases and decide for
// themselves, without any I/O (Assign), from the same facts: which replicas live, and which replica now holds each
// binding. Replicas that see these facts at different moments may disagree for a while. That costs an attempt, but
// no write. No clock is trusted: a replica lives as long as its Lease changes while the others look.
//
// # Trade-offs
//
// Owning a binding permits nothing: two replicas may own the same one for a while. It only says who tries.
// The Lease in the provider says who writes there (package fleet), and writes in the consumer have
// preconditions.
package shard

import "time"

// DefaultDuration is how long a replica counts as alive without renewing its Lease. The others notice a
// killed replica within this and two intervals, which is 12 seconds. Its Leases in the providers take another
// 15 seconds, and connecting takes a moment. The sum stays below the 40 seconds after which Kubernetes gives
// up a node.
const DefaultDuration = 9 * time.Second

const (
	// intervals is how often, within its duration, a Lease is renewed and all are read.
	intervals = 6
	// forgotten is after how many durations the Lease of a dead replica is deleted.
	forgotten = 20
)
