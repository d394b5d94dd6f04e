package views

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Pod finds a pod on a virtual node, the name of the ClusterBinding and the View that has it. All are zero if
// no View has the pod. Pod never waits: filling reports that a View is still incomplete. The pod is shared,
// and callers must not change it.
func (v *Views) Pod(ctx context.Context, key types.NamespacedName) (pod *corev1.Pod, binding string, in *View, filling bool, err error) {
	for name, view := range v.All() {
		found := &corev1.Pod{}
		informer, err := view.GetInformer(ctx, found, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, "", nil, false, fmt.Errorf("the pods of ClusterBinding %s: %w", name, err)
		}
		if !informer.HasSynced() {
			filling = true
			continue
		}
		switch err := view.Get(ctx, key, found); {
		case err == nil:
			return found, name, view, false, nil
		case !apierrors.IsNotFound(err):
			return nil, "", nil, false, fmt.Errorf("pod %s of ClusterBinding %s: %w", key, name, err)
		}
	}
	return nil, "", nil, filling, nil
}
