// Package writes names every request that Spillway makes about a pod: from its creation to its deletion, and
// when the manager starts again while pods run.
//
// The manager runs in this process as it is shipped, under the roles that are shipped, and its transports
// record the requests. The test plays the schedulers and the kubelets, so it knows how often a remote pod
// changed. It makes the next change only when the local pod shows the last one. So each change costs one
// write by Spillway, and Spillway can never combine two changes in one write.
//
// The test compares each round with the whole list of requests, so it also fails on a request that nobody has
// thought of. It reads the list when the manager has settled (see rig.Settled). By then, every write that is
// due is in the list.
package writes
