// Package integration tests the whole manager on real control planes: a consumer, two providers and a second
// consumer. Each has its own etcd, API server and controller manager. Only the tests are administrators: the
// manager has the ServiceAccount and the roles of config/default, and the roles of config/provider in the
// providers.
//
// The control planes start once, and all specs share them. Every spec has its own bindings, namespaces and
// offloadings, with names that no other spec uses. Its offloadings select by a label that only its own
// bindings have. When a spec ends, its objects are deleted without waiting. The next specs go on meanwhile,
// and the suite waits once at the end until nothing is left.
//
// go test runs the suite in one process:
//
//	go test -short -count=1 -trimpath -v ./test/integration -ginkgo.flake-attempts=2
//
// With -short it runs only specs without the label slow. At the end it prints a line "FLAKY: ..." for each
// spec that passed only at a later attempt, and the slowest specs. For a suite that passed, go test shows
// these lines only with -v or -json.
//
// No spec depends on the speed of the machine. A state that a spec waits for stays until the spec goes on. A
// passing phase is held by the spec's own finalizer on the remote namespace (hold). What might be gone before
// a read comes from a watch (history). A spec that checks that something does not happen first waits for
// something that begins later (passes). The managers tolerate probes and Leases that take half a minute,
// except in specs about them.
package integration
