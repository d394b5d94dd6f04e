package kubelet

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/shard"
)

// PodReader reads the pods on virtual nodes from the caches. It sends no request.
type PodReader struct {
	// Bindings is the consumer's cache of ClusterBindings.
	Bindings client.Reader
	Views    *views.Views
	Fleet    *fleet.Fleet
	// Owner says which bindings this replica works for.
	Owner shard.Owner
	// Origin is the identity of the consumer.
	Origin string
}

// podSnapshot is what the caches show of a pod.
type podSnapshot struct {
	kubeletapi.Snapshot
	// node is the virtual node of the pod, or empty.
	node string
	// streams are the Streams of the connected provider.
	streams fleet.Streams
}

// lookUp returns what the caches show of a pod.
func (w *PodReader) lookUp(ctx context.Context, pod types.NamespacedName) (podSnapshot, error) {
	s := podSnapshot{Snapshot: kubeletapi.Snapshot{Origin: w.Origin}}
	local, name, _, filling, err := w.Views.Pod(ctx, pod)
	if err != nil {
		return s, err
	}
	s.Incomplete = filling
	if local == nil || !w.Owner.Owns(name) {
		return s, nil
	}
	s.Local, s.node = local, local.Spec.NodeName
	binding := &v1alpha1.ClusterBinding{}
	if err := w.Bindings.Get(ctx, client.ObjectKey{Name: name}, binding); client.IgnoreNotFound(err) != nil {
		return s, fmt.Errorf("getting ClusterBinding %s: %w", name, err)
	} else if err == nil {
		s.Binding = binding
	}
	s.Provider = w.Fleet.State(name)
	provider, err := w.Fleet.Get(name)
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		if s.Provider.Phase == connection.Connected {
			s.Provider.Phase = connection.Connecting // The connection has just ended.
		}
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Provider.Phase = connection.Connected // Its caches are full, although that may not be reported yet.
	s.streams = provider.Streams
	s.Remotes, err = remotesFor(ctx, provider, pod)
	return s, err
}

// remotesFor returns the pods of a provider whose annotations say that they represent this pod.
func remotesFor(ctx context.Context, provider *fleet.Provider, pod types.NamespacedName) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := provider.GetCache().List(ctx, &list, client.MatchingFields{objects.FieldLocal: pod.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing what stands for pod %s in its provider: %w", pod, err)
	}
	found := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, nil
}
