// Package kinds holds every kind of objects that is sent to providers to the same
// promises, on real API servers. It knows of a kind what controllers.Kinds() lists, and
// its sample (kind.Sample), and nothing else: a new kind is tested as soon as it is
// listed.
//
// A kind is played in a world of the fault harness (test/faults/world): a consumer, a
// provider, the manager in this process, and players for the rest of Kubernetes. Each
// part of the suite is one promise. Most parts are played at the same time, with
// samples of their own; those that stop the manager, or end the offloading, follow one
// by one.
//
// That something does not happen is seen by what happens after it: a probe, which is
// one more sample, has been sent meanwhile.
package kinds
