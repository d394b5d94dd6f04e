package kubelet

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Follower ends the streams that must end: one of the two pods is gone, the binding is paused or gone,
// another replica works for it, or it has the credentials of another account.
type Follower struct {
	*Handler
	Reader *PodReader
	// Bindings is the consumer's cache.
	Bindings cache.Cache

	views sync.Map // The views that are followed, by the name of their binding.
}

// Follow follows the bindings until ctx ends.
func (f *Follower) Follow(ctx context.Context) error {
	f.Reader.Owner.Subscribe(func(binding string) { f.check(ctx, f.open.through(binding)) })
	return informer.Watch(ctx, f.Bindings, &v1alpha1.ClusterBinding{}, func(change informer.Change) {
		if change.After == nil {
			f.views.Delete(change.Object().GetName())
		}
		f.check(ctx, f.open.through(change.Object().GetName()))
	})
}

// Engage follows the pods of a provider until ctx ends. It follows the pods on its virtual node as long as
// they have a View, because streams continue while the connection is renewed.
func (f *Follower) Engage(ctx context.Context, name multicluster.ClusterName, provider cluster.Cluster) error {
	if name == "" {
		return nil // The consumer itself.
	}
	connection.Go(ctx, "the streams to this provider cannot be followed", func(ctx context.Context) error {
		binding := &v1alpha1.ClusterBinding{}
		if err := f.Bindings.Get(ctx, client.ObjectKey{Name: string(name)}, binding); err != nil {
			return client.IgnoreNotFound(err)
		}
		if err := f.Reader.Views.Open(ctx, binding.Name, binding.Spec.ClusterID, binding.VirtualNodeName()); err != nil {
			return err
		}
		if err := f.followView(context.WithoutCancel(ctx), binding.Name); err != nil {
			return err
		}
		if err := informer.Watch(ctx, provider.GetCache(), &corev1.Pod{}, f.pods(ctx, objects.LocalKey)); err != nil {
			return err
		}
		f.check(ctx, f.open.through(binding.Name)) // The account may have changed.
		return nil
	})
	return nil
}

// followView follows the pods of a binding until its View ends.
func (f *Follower) followView(ctx context.Context, binding string) error {
	view := f.Reader.Views.Get(binding)
	if view == nil {
		return nil // The View has ended meanwhile.
	}
	if before, _ := f.views.Swap(binding, view); before == view {
		return nil // It is followed already.
	}
	err := informer.Watch(ctx, view, &corev1.Pod{}, f.pods(ctx, client.ObjectKeyFromObject))
	if err != nil {
		f.views.CompareAndDelete(binding, view)
	}
	return err
}

// pods checks the streams to a pod whenever it changes. key returns the name of the pod in the consumer.
func (f *Follower) pods(ctx context.Context, key func(client.Object) types.NamespacedName) func(informer.Change) {
	return func(change informer.Change) {
		pod := change.Before // Its annotation may be gone from the new version.
		if pod == nil {
			pod = change.After
		}
		f.check(ctx, f.open.ofPod(key(pod)))
	}
}

// check ends the streams that must end.
func (f *Follower) check(ctx context.Context, all []*stream) {
	for _, one := range all {
		if refusal := f.mustEnd(ctx, one); refusal != nil {
			one.end(refusal)
		}
	}
}
