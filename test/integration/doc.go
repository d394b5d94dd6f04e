// Package integration tests the whole manager on real control planes: a
// consumer, two providers and a second consumer, each with etcd, an API server
// and a controller manager of its own. Nobody is administrator but the tests
// themselves: the manager has the ServiceAccount and the roles of
// config/default, and in the providers those of config/provider.
//
// The control planes are brought up once for each process of the suite (ginkgo -procs,
// as make test has it), and shared by its specs. Every spec has bindings,
// namespaces and offloadings of its own, whose names no other spec uses, and
// its offloadings select by a label that only its own bindings have. What a
// spec has made is deleted when it ends, but not waited for: the next specs go
// on meanwhile, and the suite waits once, in the end, until nothing is left.
//
// No spec depends on how fast the machine is. What it waits for stays until the
// spec goes on: a phase that would pass is held, by a finalizer of the spec's own
// on the remote namespace (hold). What is gone before anybody could look comes
// from a watch (history).
package integration
