// Package world has the clusters of the fault harness: two providers, and a consumer for each lane.
// Everything shipped is installed in them, and the manager connects to each cluster through a proxy.
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
// A run should take a second or two, because there are thousands. So the clusters are etcd and
// kube-apiserver, and nothing else. A controller manager takes at least five seconds to delete a namespace,
// and a kubelet or kwok has no fixed pace. The package plays what the product needs of the missing
// components: the kubelet and the scheduler of a provider, the namespace controller, the binding of volumes,
// and the garbage collection of what a ClusterBinding or a Node owns. The players have watches of their own,
// without proxies, and send the same writes in every run.
//
// All lanes share the providers. A lane's objects there are in namespaces whose names end with its
// ConsumerID, or carry the origin of its consumer or the label oracle.LabelLane.
//
// # Trade-offs
//
// Nobody creates ServiceAccounts and root certificates, and the admission plugins that need them are off; the
// product sends neither to a provider. Nothing turns a silent node NotReady, and no pod is deleted because
// its node is gone.
package world
