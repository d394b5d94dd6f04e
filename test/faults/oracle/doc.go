// Package oracle reports whether a run of the manager went as it should have.
//
// It has two sources of its own, and none of the product's. The Ledger watches
// the consumer and the providers of a lane, past every proxy, and keeps each
// version of each object; resourceVersions of one cluster put them in the order
// in which they happened, however late a watch is. The witness stands in the
// manager's own connections, closest to the API server, and looks before it lets
// a request pass: that a pod was still running in the provider when the manager
// let it go in the consumer is in the order of no single cluster.
//
// From them come the State (all that there is, with everything masked that
// differs from run to run), the Counts (what there is, and what was ever made),
// and the Violations of what has to hold at each moment. All three are pure
// functions of what was recorded.
package oracle
