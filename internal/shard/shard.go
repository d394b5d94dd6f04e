// Package shard makes replicas of the manager share the ClusterBindings.
//
// # Usage
//
// A Registry knows which replicas live. From it, the bindings and their holders, a
// Coordinator determines the bindings that this replica works for: Owns reports it, and
// Subscribe every change. The multicluster manager gets the Coordinator in place of its
// own.
//
// # Implementation
//
// Each replica renews a Lease of its own in the manager's namespace. All replicas read
// these Leases and decide for themselves (package decide/shard). Nobody's clock is
// trusted: a replica lives as long as its Lease changes while we look.
//
// # Trade-offs
//
// Owning a binding permits nothing: two replicas may own the same one for a while. It
// only says who tries. The Lease in the provider says who writes there (package fleet),
// and writes in the consumer have preconditions.
package shard

import "time"

// DefaultDuration is how long a replica counts as alive without renewing its Lease. A
// killed replica is noticed within this and two intervals, that is 12 seconds. With the
// 15 of its Leases in the providers, and a moment to connect, that stays below the 40
// seconds after which Kubernetes gives up a node.
const DefaultDuration = 9 * time.Second

const (
	// intervals is how often, within its duration, a Lease is renewed and all are read.
	intervals = 6
	// forgotten is after how many durations the Lease of a dead replica is deleted.
	forgotten = 20
)
