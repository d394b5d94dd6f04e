// Package integration tests the whole manager on real control planes: a
// consumer, two providers and a second consumer, each with etcd, an API server
// and a controller manager of its own. Nobody is administrator but the tests
// themselves: the manager has the ServiceAccount and the roles of
// config/default, and in the providers those of config/provider.
//
// The control planes are brought up once, and shared by all specs. Every spec has
// bindings, namespaces and offloadings of its own, whose names no other spec uses, and
// its offloadings select by a label that only its own bindings have. What a
// spec has made is deleted when it ends, but not waited for: the next specs go
// on meanwhile, and the suite waits once, in the end, until nothing is left.
//
// The suite is run by go test, in one process:
//
//	go test -short -count=1 -trimpath -v ./test/integration -ginkgo.flake-attempts=2
//
// With -short it runs its quick part: what has not the label slow. In the end it
// prints a line "FLAKY: ..." for each spec that passed only at a later attempt, and which
// specs took longest. go test shows that of a suite that has passed only with -v, or -json.
//
// No spec depends on how fast the machine is. What it waits for stays until the
// spec goes on: a phase that would pass is held, by a finalizer of the spec's own
// on the remote namespace (hold). What is gone before anybody could look comes
// from a watch (history). What must not happen is looked for when something else has
// that begins after it (passes). The managers bear probes and Leases that take half a
// minute, but where a spec is about them.
package integration
