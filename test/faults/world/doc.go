// Package world is where the scenarios of the fault harness play: two providers
// and a consumer for each lane, with everything installed that is shipped, and
// a proxy before each cluster through which the manager has to go.
//
// # Usage
//
//	site, err := world.Up(ctx, 4, os.Stderr)
//	defer site.Down(ctx)
//	w, err := site.Lanes[0].Begin(ctx) // fails if anything is left of the run before
//	m, err := w.StartManager(ctx, world.InHaste(), wrap)
//	err = w.Bind(ctx, "p1")
//	...
//	err = w.End(ctx) // stops what runs, and removes all
//
// # Implementation
//
// A run is to take a second or two, and there are thousands of them. So the
// clusters are etcd and kube-apiserver, and nothing else: a controller manager
// takes five seconds at least to let a namespace go, and a kubelet or kwok does
// its work some time or other. What the product relies on of those is played:
// the kubelet and the scheduler of a provider, the namespace controller, the
// binding of volumes, and the garbage collection of what a ClusterBinding or a
// Node owns. The players follow watches of their own, past the proxies, and make
// the same writes in every run.
//
// The providers are shared by all lanes. What a lane makes there is in
// namespaces whose names end with its ConsumerID, or carries the origin of its
// consumer, or the label oracle.LabelLane.
//
// # Trade-offs
//
// Nobody makes ServiceAccounts and root certificates, and the admission plugins
// that want them are off; the product sends neither to a provider. Nothing turns
// a silent node NotReady, and no pod goes because its node has.
package world
