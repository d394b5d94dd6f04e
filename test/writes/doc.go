// Package writes names every request that Spillway makes about a pod: from its
// creation to its deletion, and when the manager starts again over pods that run.
//
// The manager is the one that is shipped, in this process and under the roles
// that are shipped, and its transports note what passes. The test plays the
// schedulers and the kubelets, so that it knows how often a remote pod changed:
// it makes the next change only when the local pod shows the last one, which
// costs one write by Spillway each, and no more of them can come together.
//
// What a round is compared with is the whole list of requests, so that one that
// nobody has thought of fails the test. It is read when the manager has settled
// (see rig.Settled): a write that is due is in it by then.
package writes
