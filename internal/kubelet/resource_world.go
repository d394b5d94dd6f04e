package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/kubelet/usage"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// bindingOf implements Usage.
func (w *PodReader) bindingOf(ctx context.Context, node string) (string, *kubeletapi.Refusal, error) {
	bindings, err := consumer.Bindings(ctx, w.Bindings)
	if err != nil {
		return "", nil, err
	}
	for _, binding := range bindings.Usable() {
		if !w.has(binding, node) || !w.Owner.Owns(binding.Name) {
			continue
		}
		_, err := w.Fleet.Get(binding.Name)
		if errors.Is(err, multicluster.ErrClusterNotFound) {
			return "", &kubeletapi.Refusal{Code: http.StatusServiceUnavailable, Message: fmt.Sprintf("provider %s is not connected: %s",
				binding.Spec.ClusterID, cmp.Or(w.Fleet.State(binding.Name).Message, "it is being connected"))}, nil
		}
		return binding.Name, nil, err
	}
	return "", &kubeletapi.Refusal{Code: http.StatusNotFound, Message: fmt.Sprintf("this manager does not serve a virtual node %q", node)}, nil
}

// has reports whether a node is one of the virtual nodes of a binding.
func (w *PodReader) has(binding *v1alpha1.ClusterBinding, node string) bool {
	if binding.VirtualNodeName() == node {
		return true
	}
	view := w.Views.Get(binding.Name)
	_, has := view.Groups()[node]
	return has
}

// several implements Usage. A binding without groups has one node.
func (w *PodReader) several(binding string) bool { return len(w.Views.Get(binding).Groups()) > 0 }

// readings implements Usage.
func (w *PodReader) readings(ctx context.Context, binding string) (map[usage.Container]usage.Reading, error) {
	provider, err := w.Fleet.Get(binding)
	if err != nil {
		return nil, err
	}
	said, err := provider.PodMetrics.List(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := w.pairs(ctx, binding, provider)
	return usage.Readings(said, pods), err
}

// pairs returns the pods on a virtual node that have a remote pod.
func (w *PodReader) pairs(ctx context.Context, binding string, provider *fleet.Provider) ([]usage.Pair, error) {
	view := w.Views.Get(binding)
	if view == nil {
		return nil, nil // The binding is being deleted.
	}
	var list corev1.PodList
	if err := view.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods of ClusterBinding %s: %w", binding, err)
	}
	mark := provenance.Mark{Origin: w.Origin, ClusterID: view.ClusterID}
	var pairs []usage.Pair
	for i := range list.Items {
		local := &list.Items[i]
		remotes, err := remotesFor(ctx, provider, client.ObjectKeyFromObject(local))
		if err != nil {
			return nil, err
		}
		if remote := kubeletapi.RemoteFor(mark, local, remotes); remote != nil {
			pairs = append(pairs, usage.Pair{Local: local, Remote: remote})
		}
	}
	return pairs, nil
}
