package namespacemap

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/inventory"
)

// The entries of a map say what to create. They alone do not say what to delete: a
// missing entry may be somebody's edit, and everything in the remote namespace would go
// with it. So the offloading is asked as well, first as the cache shows it and, since
// that may lag, again at the API server just before the deletion.

// retained returns the remote namespaces without an entry that stay.
func (r *Reconciler) retained(ctx context.Context, binding *v1alpha1.ClusterBinding, undesired []namespacemap.Delete) (sets.Set[string], error) {
	kept := sets.New[string]()
	for _, d := range undesired {
		asks, err := r.isRequested(ctx, r.Client, binding, d)
		if err != nil {
			return nil, err
		}
		if asks {
			kept.Insert(d.RemoteNamespace)
		}
	}
	return kept, nil
}

// isRequested reports whether an offloading asks for a remote namespace, or has pods there that must be evicted
// first. Once the binding's own deletion has reached the remote namespaces, no offloading does.
func (r *Reconciler) isRequested(ctx context.Context, from client.Reader, binding *v1alpha1.ClusterBinding, d namespacemap.Delete) (bool, error) {
	if !binding.DeletionTimestamp.IsZero() && drain.ReachedNamespaces(binding) {
		return false, nil
	}
	nso := &v1alpha1.NamespaceOffloading{}
	if err := from.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: v1alpha1.OffloadingName}, nso); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("getting the NamespaceOffloading of namespace %s: %w", d.Namespace, err)
	}
	if earlier, err := r.ofEarlier(ctx, d); err != nil || earlier {
		return false, err
	}
	holding, err := inventory.CountBlocking(ctx, r.Inventory, nso, binding)
	if err != nil {
		return false, err
	}
	wanted, ok := namespaceoffloading.Wanted(nso, binding, true, holding > 0, r.Settings)
	return ok && wanted.Matches(d.RemoteNamespace), nil
}

// ofEarlier reports whether the remote namespace represents an earlier local namespace of that name. The
// offloading does not ask for such a namespace.
func (r *Reconciler) ofEarlier(ctx context.Context, d namespacemap.Delete) (bool, error) {
	local := consumer.NamespaceMetadata()
	if err := r.Client.Get(ctx, client.ObjectKey{Name: d.Namespace}, local); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, nil
		}
		return false, fmt.Errorf("getting namespace %s: %w", d.Namespace, err)
	}
	return local.UID != d.LocalUID, nil
}
