// Package shard has replicas of the manager share the ClusterBindings.
//
// # Usage
//
// A Registry says which replicas live. A Coordinator takes from it, from the
// bindings, and from who holds each of them, which of them this replica is to work
// for: Owns says it, and Subscribe tells of every change. The multicluster manager
// gets the Coordinator in place of its own.
//
// # Implementation
//
// Each replica has a Lease in the manager's namespace, which it renews. All replicas
// read these Leases and decide for themselves (package decide/shard). Nobody's clock
// is believed: a replica lives as long as its Lease changes while we look.
//
// # Trade-offs
//
// Owning a binding permits nothing: two replicas may own the same one for a while.
// It says who tries. Who writes is said by the Lease in the provider (package
// fleet), and what both write in the consumer has preconditions.
package shard

import "time"

// DefaultDuration is how long a replica counts as alive that does not renew its Lease.
// A replica that is killed is noticed within this and two intervals, that is 12
// seconds. Together with the 15 of its Leases in the providers, and a moment to connect,
// that stays below the 40 seconds after which Kubernetes gives up a node.
const DefaultDuration = 9 * time.Second

const (
	// intervals is how often a Lease is renewed, and all are read, in its duration.
	intervals = 6
	// forgotten is after how many durations the Lease of a dead replica is deleted.
	forgotten = 20
)
