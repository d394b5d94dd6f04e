// Package oracle reports whether a run of the manager went as it should have.
//
// It has two sources of its own, and uses none of the product's. The Ledger watches the consumer and the
// providers of a lane without any proxy, and keeps each version of each object. Resource versions order the
// events of one cluster, however late a watch is.
//
// The witness sits in the manager's own connections, closest to the API server. It checks the clusters before
// it lets a request pass. For example, no single cluster orders these two events: a pod still runs in the
// provider, and the manager lets it go in the consumer.
//
// The oracle derives three results, all of them pure functions of the recording:
//   - State: all objects, with everything masked that differs between runs.
//   - Counts: how many objects exist, and how many were ever created.
//   - Violations: which rules were broken that must hold at each moment.
package oracle
