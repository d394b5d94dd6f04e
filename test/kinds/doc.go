// Package kinds checks that every kind of object that is sent to providers keeps the same promises, on real
// API servers. It gets the kinds from controllers.Kinds() and their samples (test/samples), and knows nothing
// else about a kind. So a new kind is tested as soon as it is in the list.
//
// Each kind is tested in a world of the fault harness (test/faults/world): a consumer, a provider, the
// manager in this process, and players for the rest of Kubernetes. Each part of the suite tests one promise.
// Most parts run at the same time, each with its own samples. The parts that stop the manager or end the
// offloading run after them, one by one.
//
// A part that checks that something does not happen waits for a later event: a probe, which is one more
// sample, is sent.
package kinds
